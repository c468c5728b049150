"""`askfirst verify`, `askfirst sign` and `askfirst ship`: what a finished run can be held to."""

from __future__ import annotations

import json
from pathlib import Path

from askfirst import ledger
from askfirst.runfolder import RunFolder
from askfirst.store import plain

# What no ledger can show by itself; said with every verification.
LIMITS = (
    "a ledger and files that were both cut back, unless --head is given as somebody kept it",
    "a run whose author wrote the whole ledger anew; a signature binds it to a key, not to a time",
    "wrong times: the clock is that of the machine",
)


def ship(folder: Path, *, as_json: bool) -> None:
    """Apply the ship rules, print them, and exit 1 where one does not hold."""
    from askfirst.report.page import write_report
    from askfirst.ship import ship as apply

    record = apply(RunFolder(folder))
    write_report(folder)
    if as_json:
        print(json.dumps(plain(record), ensure_ascii=False))
    else:
        for number, rule in enumerate(record.rules, start=1):
            print(f"{'yes' if rule.holds else 'no':<9} {number}. {rule.name}: {rule.reason}")
        stamp = f" · {record.holdout}" if record.holdout != "opened_once" else ""
        print(f"{record.decision:<9} {record.checkpoint}{f' → {record.moved}' if record.moved else ''}{stamp}")
    if record.decision != "SHIP":
        raise SystemExit(1)


def sign(folder: Path, key: Path, *, new: bool) -> None:
    """Sign a finished run with an ed25519 key, made first where that is wanted."""
    from askfirst import attestation

    if new:
        print(f"made      {key} and {attestation.new_key(key)}; keep the first out of every repository")
    run = RunFolder(folder)
    name = attestation.sign(run, key)
    print(f"signed    {run.attestation} by the key {name}")


def verify(folder: Path, head: str | None, key: Path | None, *, as_json: bool) -> None:
    """Hold a run against its ledger and, where there is one, its signature; exit 1 unless all is as it was entered."""
    run = RunFolder(folder)
    found = ledger.verify(run)
    findings = list(found.findings)
    if head is not None and not found.head.startswith(head):
        findings.append(
            ledger.Finding("ledger.jsonl", f"its head is {found.head}, not {head}: it was cut or rewritten")
        )
    signer = None
    if run.attestation.is_file() or key is not None:
        from askfirst.attestation import check

        signer, wrong = check(run, key)
        findings += wrong
    intact = found.finished and not findings
    if as_json:
        body = {**plain(found), "findings": plain(findings), "intact": intact, "signer": signer, "limits": list(LIMITS)}
        print(json.dumps(body, ensure_ascii=False))
    else:
        for finding in findings:
            print(f"changed   {finding}")
        word = "intact" if intact else "changed" if findings else "unfinished"
        print(f"{word:<9} {found.files} files, {found.lines} lines, head {found.head}")
        if signer is not None:
            print(f"signed    by the key {signer}{'' if key else ' (whose that is, --key can say)'}")
        if not found.finished:
            print("          the run is not finished: its files are bound when it is")
        for limit in LIMITS:
            print(f"not seen  {limit}")
    if not intact:
        raise SystemExit(1)
