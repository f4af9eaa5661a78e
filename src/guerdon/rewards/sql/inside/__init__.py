"""What the reward ``sql`` runs within the sandbox; nothing in here imports anything of the rest."""
