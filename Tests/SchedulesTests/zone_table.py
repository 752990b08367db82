#!/usr/bin/env python3
"""Writes ZoneTable.swift: the instants of cron expressions in time zones from 2026 to 2030.

The method differs from Sluice's. The program walks over each minute of these years and reads the zone's clocks:
- For an expression whose minute or hour begins with `*`, each shown minute counts.
- For other expressions, a minute counts when the clocks show it for the first time.
  Minutes that the clocks skip count at the first minute after the gap.
An expression matches by membership in sets.
"""
import sys
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns"]
ALL = {"minute": range(60), "hour": range(24), "day": range(1, 32), "month": range(1, 13), "weekday": range(7)}
EXPRESSIONS = {
    "30 2 * * *": dict(minute={30}, hour={2}),
    "0 3 * * *": dict(minute={0}, hour={3}),
    "*/15 * * * *": dict(minute={0, 15, 30, 45}),
    "0 * * * *": dict(minute={0}),
    "*/20 2 * * *": dict(minute={0, 20, 40}, hour={2}),
    "15 1,2 * * SUN": dict(minute={15}, hour={1, 2}, weekday={0}),
    "45 1 1-10/3 APR-NOV ?": dict(minute={45}, hour={1}, day={1, 4, 7, 10}, month=set(range(4, 12))),
    "59 23 29 2 *": dict(minute={59}, hour={23}, day={29}, month={2}),
    "0 12 13 * 5": dict(minute={0}, hour={12}, day={13}, weekday={5}, either=True),
}
BEGIN, END = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (2026, 2031))
MINUTE = timedelta(minutes=1)


def matches(fields, local):
    def has(name, value):
        return value in fields.get(name, ALL[name])

    day, weekday = has("day", local.day), has("weekday", local.isoweekday() % 7)
    is_day = (day or weekday) if fields.get("either") else (day and weekday)
    return is_day and has("minute", local.minute) and has("hour", local.hour) and has("month", local.month)


def by_elapsed_time(text):
    minute, hour, *_ = text.split()
    return minute.startswith("*") or hour.startswith("*")


def walk(zone):
    """Returns the instants of each expression, and the instants at which the clocks change."""
    info = ZoneInfo(zone)
    found = {text: [] for text in EXPRESSIONS}
    changes = []
    shown = (BEGIN - MINUTE).astimezone(info).replace(tzinfo=None)  # the latest local time shown so far
    instant = BEGIN
    while instant < END:
        local = instant.astimezone(info).replace(tzinfo=None)
        for text in filter(by_elapsed_time, EXPRESSIONS):
            if matches(EXPRESSIONS[text], local):
                found[text].append(instant)
        if local <= shown:
            if local + MINUTE > shown:
                changes.append(instant)
            instant += MINUTE
            continue
        if local - shown > MINUTE:
            changes.append(instant)
        new = []
        while shown < local:
            shown += MINUTE
            new.append(shown)
        for text, fields in EXPRESSIONS.items():
            if not by_elapsed_time(text) and any(matches(fields, minute) for minute in new):
                found[text].append(instant)
        instant += MINUTE
    return found, changes


def checksum(instants):
    value = 0
    for instant in instants:
        value = (value * 31 + int(instant.timestamp())) % 1_000_000_007
    return value


def main():
    print("/// Written by zone_table.py.")
    print("enum ZoneTable {")
    print("    struct Row { let zone, expression: String; let count, checksum: Int; let atChanges: [String] }")
    print("    static let rows = [")
    for zone in ZONES:
        found, changes = walk(zone)
        print(f"{zone}: {len(changes)} changes", file=sys.stderr)
        for text, instants in found.items():
            # Prints the instants within 26 hours around the changes of 2027, if fewer than five.
            near = [i for i in instants if any(abs(i - c) <= timedelta(hours=13) for c in changes) and i.year == 2027]
            near = near if len(near) < 5 else []
            shown = ", ".join(f'"{i:%Y-%m-%dT%H:%MZ}"' for i in near)
            print("        Row(")
            print(f'            zone: "{zone}",')
            print(f'            expression: "{text}",')
            print(f"            count: {len(instants)},")
            print(f"            checksum: {checksum(instants)},")
            print(f"            atChanges: [{shown}]")
            print("        ),")
    print("    ]")
    print("}")


main()
