"use strict";
// Everything from the server is set as text, never as HTML, but for the listing, which the server escaped.
const byId = (id) => document.getElementById(id);
let key = "";

function make(tag, properties, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

function headers(more) {
  return key ? { ...more, Authorization: "Bearer " + key } : more;
}

function field(id, title, value, hint, isCode) {
  const area = make("textarea", { id, name: id, value, rows: value.length > 60 ? 4 : 1, className: isCode ? "code" : "" });
  return make("div", {}, make("label", { htmlFor: id }, title, hint ? make("span", { className: "hint" }, " " + hint) : ""), area);
}

function columnField(column, position) {
  const id = "column-" + position;
  const box = field(id, column.name, column.value, column.required ? "needed" : "optional", column.json);
  const check = make("input", { type: "checkbox", id: id + "-json", checked: column.json });
  box.append(make("label", { className: "json" }, check, "read as JSON"));
  return box;
}

function fill(rewards, chosen) {
  const reward = rewards[chosen];
  const numbered = reward.columns.map((column, i) => [column, i]);
  const isShown = ([column]) => column.required || column.name === "ground_truth";
  const shown = numbered.filter(isShown);
  const hidden = numbered.filter((each) => !isShown(each));
  const select = make("select", { id: "reward" }, ...rewards.map((each, i) => make("option", { value: String(i), selected: i === chosen }, each.name)));
  select.addEventListener("change", () => { fill(rewards, Number(select.value)); byId("reward").focus(); });
  byId("try-form").replaceChildren(
    make("div", {}, make("label", { htmlFor: "reward" }, "Reward"), select),
    field("prompt", "Prompt", reward.prompt),
    field("response", "Response", reward.response),
    ...shown.map(([column, i]) => columnField(column, i)),
    make("details", {}, make("summary", {}, "Optional columns"), ...hidden.map(([column, i]) => columnField(column, i)),
      field("more", "Further columns", "", "a JSON object", true)),
    make("button", { type: "submit" }, "Score"),
  );
  byId("result").replaceChildren();
  byId("try-form").onsubmit = (event) => { event.preventDefault(); score(reward); };
}

function parsed(text, name) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(name + " is not JSON: " + error.message);
  }
}

function bodyOf(reward) {
  const more = byId("more").value.trim();
  const body = more ? parsed(more, "Further columns") : {};
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw new Error("Further columns must be a JSON object");
  Object.assign(body, { prompt: byId("prompt").value, response: byId("response").value });
  reward.columns.forEach((column, i) => {
    const text = byId("column-" + i).value;
    if (text === "" && !column.required) return;
    body[column.name] = byId("column-" + i + "-json").checked ? parsed(text, column.name) : text;
  });
  return body;
}

async function score(reward) {
  const button = byId("try-form").querySelector("button");
  button.disabled = true;
  const began = performance.now();
  try {
    const path = (reward.root ? reward.root + "/" : "") + "v1/score";
    const response = await fetch(path, { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(bodyOf(reward)) });
    const text = await response.text();
    show(response.status, text, performance.now() - began);
  } catch (error) {
    failed(error.message);
  } finally {
    button.disabled = false;
  }
}

function failed(message) {
  byId("result").className = "bad";
  byId("result").replaceChildren(make("p", { className: "score" }, "Not scored: " + message));
}

function show(status, text, milliseconds) {
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    failed("status " + status + ", and the answer is not JSON");
    return;
  }
  const result = byId("result");
  const error = answer.error;
  result.className = error ? "bad" : "good";
  const head = error ? "No score: " + error.kind : answer.score === null ? "The reward does not apply" : "Score " + answer.score;
  const parts = [make("p", { className: "score" }, head)];
  if (error) parts.push(make("p", {}, error.message));
  if (answer.reason) parts.push(make("p", {}, answer.reason));
  const metrics = Object.entries(answer.metrics || {});
  if (metrics.length) parts.push(table(metrics));
  parts.push(make("p", { className: "hint" }, "status " + status + ", " + Math.round(milliseconds) + " ms with the way there and back"));
  parts.push(make("details", {}, make("summary", {}, "The whole answer"), make("pre", {}, JSON.stringify(answer, null, 2))));
  result.replaceChildren(...parts);
}

function table(metrics) {
  const head = make("tr", {}, ...["Metric", "Score", "Success", "Reason"].map((title) => make("th", { scope: "col" }, title)));
  const rows = metrics.map(([name, metric]) => make("tr", {},
    make("th", { scope: "row" }, name),
    make("td", { className: "number" }, String(metric.score)),
    make("td", {}, metric.success === undefined || metric.success === null ? "" : metric.success ? "yes" : "no"),
    make("td", {}, metric.reason || "")));
  return make("div", { className: "wide" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function addCopyButtons() {
  if (!navigator.clipboard) return;
  for (const line of document.querySelectorAll(".curl dd pre")) {
    const title = line.parentElement.previousElementSibling;
    const button = make("button", { type: "button", className: "copy", ariaLabel: "Copy the line for " + title.textContent }, "Copy");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(line.textContent);
      button.textContent = "Copied";
    });
    title.append(button);
  }
}

function begin() {
  const data = byId("data");
  const rewards = data ? JSON.parse(data.textContent) : [];
  if (!rewards.length) return;
  byId("try").hidden = false;
  fill(rewards, 0);
  addCopyButtons();
}

async function unlock(event) {
  event.preventDefault();
  key = byId("key").value.trim();
  const status = byId("key-status");
  try {
    const response = await fetch("", { headers: headers({ Accept: "text/html" }) });
    if (!response.ok) {
      status.textContent = response.status === 403 ? "The server does not know this key." : "The server answered with status " + response.status + ".";
      return;
    }
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    byId("listing").replaceWith(document.adoptNode(page.getElementById("listing")));
    status.textContent = "The key is right.";
    begin();
  } catch (error) {
    status.textContent = "The server cannot be reached: " + error.message;
  }
}

if (byId("key-form")) byId("key-form").addEventListener("submit", unlock);
begin();
