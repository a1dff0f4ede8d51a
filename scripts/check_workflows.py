#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The workflows of .github are what GitHub can run, and name only what is here.

Each parses as YAML; has triggers and jobs; each job a runner, a time limit and steps; each step one
of `uses`, with a version, and `run`, which bash can parse; `needs` names jobs; scripts, presets and
folders of this repository that a step names exist. Exit status 77: PyYAML is not installed.
"""
import json
import pathlib
import re
import subprocess
import sys

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("scripts", "tools", "tests", "examples", "gpu", "docs")


def presets():
    text = json.loads((ROOT / "CMakePresets.json").read_text())
    return {row["name"] for row in text["configurePresets"] if not row.get("hidden")}


def wrong_in_run(command):
    plain = re.sub(r"\$\{\{.*?\}\}", "value", command)
    parsed = subprocess.run(["bash", "-n"], input=plain, text=True, capture_output=True)
    if parsed.returncode != 0:
        yield f"bash cannot parse it: {parsed.stderr.strip()}"
    for path in re.findall(rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})/[\w./*-]+", plain):
        if not list(ROOT.glob(path)):
            yield f"there is no {path}"
    for name in re.findall(r"--preset[ =](\S+)", plain):
        if name not in presets():
            yield f"there is no preset {name}"


def wrong_in_step(step):
    if ("run" in step) == ("uses" in step):
        yield "a step has one of run and uses"
    elif "run" in step:
        yield from wrong_in_run(step["run"])
    elif not re.fullmatch(r"[\w./-]+@[\w.]+", step["uses"]):
        yield f"'{step['uses']}' names no version"


def wrong_in_job(job, names):
    for key in ("runs-on", "timeout-minutes", "steps"):
        if not job.get(key):
            yield f"has no {key}"
    needs = job.get("needs", [])
    for name in [needs] if isinstance(needs, str) else needs:
        if name not in names:
            yield f"needs '{name}', which is no job"
    for number, step in enumerate(job.get("steps") or [], 1):
        for problem in wrong_in_step(step):
            yield f"step {number}: {problem}"


def wrong_in_workflow(path):
    try:
        workflow = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        yield str(error)
        return
    if not isinstance(workflow, dict):
        yield "is no mapping"
        return
    # YAML 1.1 reads the key `on` as true.
    if not (workflow.get("on") or workflow.get(True)):
        yield "has no triggers"
    if "permissions" not in workflow:
        yield "does not say its permissions"
    jobs = workflow.get("jobs") or {}
    if not jobs:
        yield "has no jobs"
    for name, job in jobs.items():
        for problem in wrong_in_job(job, jobs):
            yield f"job {name}: {problem}"


def main():
    paths = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
    problems = [f"{p.relative_to(ROOT)}: {text}" for p in paths for text in wrong_in_workflow(p)]
    if not paths:
        problems.append("no workflows in .github/workflows")
    for text in problems:
        print(text, file=sys.stderr)
    if not problems:
        print(f"{len(paths)} workflows: no problem found")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
