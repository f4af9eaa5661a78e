"""The same small programs in each language: what they do is in the name of their table."""

from __future__ import annotations

ADDS = {
    "javascript": """
const numbers = require("fs").readFileSync(0, "utf8").split(/\\s+/).filter(Boolean).map(Number);
console.log(numbers.reduce((sum, number) => sum + number, 0));
""",
    "c": """
#include <stdio.h>
int main(void) { long sum = 0, number; while (scanf("%ld", &number) == 1) sum += number; printf("%ld\\n", sum); }
""",
    "cpp": """
#include <iostream>
int main() { long sum = 0, number; while (std::cin >> number) sum += number; std::cout << sum << "\\n"; }
""",
    "rust": """
use std::io::Read;
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    println!("{}", text.split_whitespace().map(|word| word.parse::<i64>().unwrap()).sum::<i64>());
}
""",
    "go": """
package main
import "fmt"
func main() {
    sum, number := 0, 0
    for { if _, err := fmt.Scan(&number); err != nil { break }; sum += number }
    fmt.Println(sum)
}
""",
    "java": """
package some.where;
import java.util.Scanner;
public class Adding {
    public static void main(String[] arguments) {
        Scanner in = new Scanner(System.in);
        long sum = 0;
        while (in.hasNextLong()) sum += in.nextLong();
        System.out.println(new Shown(sum));
    }
    record Shown(long number) { public String toString() { return "" + number; } }
}
""",
    "bash": "sum=0; for number in $(cat); do sum=$((sum + number)); done; echo $sum | cat",
}
EXITS_WITH_3 = {
    "javascript": "process.exit(3)",
    "c": "int main(void) { return 3; }",
    "cpp": "int main() { return 3; }",
    "rust": "fn main() { std::process::exit(3) }",
    "go": 'package main\nimport "os"\nfunc main() { os.Exit(3) }',
    "java": "class Main { public static void main(String[] arguments) { System.exit(3); } }",
    "bash": "exit 3",
}
SPINS = {
    "javascript": "for (;;);",
    "c": "int main(void) { for (;;); }",
    "cpp": "int main() { volatile int i = 0; for (;;) i = i + 1; }",
    "rust": "fn main() { let mut i = 0u64; loop { i = std::hint::black_box(i.wrapping_add(1)); } }",
    "go": "package main\nfunc main() { for {} }",
    "java": "class Main { public static void main(String[] arguments) { while (true); } }",
    # In a part of its own, whose time is not that of the first process.
    "bash": "(while :; do :; done)\necho",
}
EATS_MEMORY = {
    "javascript": "const kept = []; for (;;) kept.push(new Array(100000).fill(1.5));",
    "c": """
#include <stdlib.h>
#include <string.h>
int main(void) {
    for (long sum = 0;;) { char *some = malloc(1 << 20); memset(some, 1, 1 << 20); sum += some[sum & 1023]; }
}
""",
    "cpp": """
#include <vector>
int main() { std::vector<std::vector<char>> kept; for (;;) kept.emplace_back(1 << 20, 'x'); }
""",
    "rust": "fn main() { let mut kept = Vec::new(); loop { kept.push(vec![1u8; 1 << 20]); } }",
    "go": """
package main
var kept [][]byte
func main() { for { block := make([]byte, 1<<20); for i := range block { block[i] = 1 }; kept = append(kept, block) } }
""",
    "java": """
import java.util.*;
class Main { public static void main(String[] arguments) {
    List<byte[]> kept = new ArrayList<>(); while (true) kept.add(new byte[1 << 20]); } }
""",
    "bash": "text=x; while :; do text=$text$text; done",
}
FLOODS = {
    "javascript": "const line = 'x'.repeat(1000) + '\\n'; for (;;) require('fs').writeSync(1, line);",
    "c": '#include <stdio.h>\nint main(void) { for (;;) puts("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"); }',
    "cpp": '#include <iostream>\nint main() { for (;;) std::cout << "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\\n"; }',
    "rust": 'fn main() { let line = "x".repeat(1000); loop { println!("{line}"); } }',
    "go": """
package main
import ("fmt"; "strings")
func main() { line := strings.Repeat("x", 1000); for { fmt.Println(line) } }
""",
    "java": """
class Main { public static void main(String[] arguments) { String line = "x".repeat(1000);
    while (true) System.out.println(line); } }
""",
    "bash": 'line=$(printf "x%.0s" {1..1000}); while :; do echo $line; done',
}
READS = {
    "javascript": 'process.stdout.write(require("fs").readFileSync(process.argv[2]))',
    "c": """
#include <stdio.h>
int main(int count, char **arguments) {
    FILE *file = fopen(arguments[1], "r");
    if (!file) return 1;
    for (int one; (one = getc(file)) != EOF;) putchar(one);
}
""",
    "cpp": """
#include <fstream>
#include <iostream>
int main(int, char **arguments) { std::ifstream file(arguments[1]); if (!file) return 1; std::cout << file.rdbuf(); }
""",
    "rust": """
fn main() { print!("{}", std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap()); }
""",
    "go": """
package main
import ("fmt"; "os")
func main() { text, err := os.ReadFile(os.Args[1]); if err != nil { panic(err) }; fmt.Print(string(text)) }
""",
    "java": """
import java.nio.file.*;
class Main { public static void main(String[] arguments) throws Exception {
    System.out.print(Files.readString(Path.of(arguments[0]))); } }
""",
    "bash": 'cat "$1"',
}
CONNECTS = {
    "javascript": """
const port = Number(process.argv[2]);
require("net").connect(port, "127.0.0.1").on("connect", () => { console.log("through"); process.exit(0); })
""",
    "c": """
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **arguments) {
    struct sockaddr_in there = {AF_INET, htons(atoi(arguments[1])), {htonl(INADDR_LOOPBACK)}};
    if (connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&there, sizeof there)) return 1;
    puts("through");
}
""",
    "rust": """
fn main() {
    let port: u16 = std::env::args().nth(1).unwrap().parse().unwrap();
    std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    println!("through");
}
""",
    "java": """
class Main { public static void main(String[] arguments) throws Exception {
    new java.net.Socket("127.0.0.1", Integer.parseInt(arguments[0])); System.out.println("through"); } }
""",
    "bash": "exec 3<>/dev/tcp/127.0.0.1/$1 && echo through",
}
FORKS_WITHOUT_END = {
    "javascript": """
const { spawn } = require("child_process");
for (let i = 0; i < 20; i++) spawn(process.execPath, ["main.js"]).on("error", () => process.exit(1));
""",
    "c": "#include <unistd.h>\nint main(void) { for (;;) fork(); }",
    "bash": "bomb() { bomb | bomb & }; bomb; wait",
}
