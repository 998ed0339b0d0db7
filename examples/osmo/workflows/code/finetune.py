"""What each task of a fine-tuning runs."""

import argparse
import json
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--config", type=Path, required=True)
config = json.loads(parser.parse_args().config.read_text())
for epoch in range(config["epochs"]):
    print(f"{config['language']}: epoch {epoch + 1} of {config['epochs']}")
