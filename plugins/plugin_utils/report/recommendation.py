# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The recommendation of a host as the parts of its page: what is recommended, why, what stands in the way, what it costs."""

from __future__ import annotations

from typing import Any, NamedTuple

from markupsafe import Markup

from ansible_collections.pagesmith.innodb.plugins.module_utils.page_size import PAGE_SIZES

from .host import BLOCKED, CHANGE, FAILED, STAY, Candidate, HostReport
from .units import NO_BREAK, bytes_markup, bytes_text, change_text, count_text, date_text, ratio_text, size_text
from .values import amount, flag, mapping, mappings, number, page_size, text, texts

BADGES = {CHANGE: "Change", STAY: "Stay", BLOCKED: "Blocked", FAILED: "Not assessed"}
FALLBACK_HEADLINES = {
    CHANGE: "Another page size is recommended.",
    STAY: "Stay at the page size of today.",
    BLOCKED: "Another page size might be better, but something stands in the way.",
}
#: How good a reason is, best first, as a reader knows it.
RANKS = {
    "measured_workload": "measured here on this workload",
    "measured_sysbench": "measured here with sysbench",
    "rehearsal": "rehearsed on this host",
    "prediction": "predicted from a rehearsal on this host",
    "counters": "counters of the running server",
    "published": "published figures",
    "rule_of_thumb": "rule of thumb",
}
CONFIDENCE = {
    "high": "The evidence comes from this host and agrees.",
    "medium": "The evidence is good, and some of it is missing or contradicts.",
    "low": "There is little evidence from this host.",
}


class Fact(NamedTuple):
    """A line of a list of facts."""

    label: str
    value: str | Markup
    note: str = ""


class Side(NamedTuple):
    title: str
    reasons: list[dict[str, Any]]


def headline(report: HostReport) -> str:
    return report.headline or FALLBACK_HEADLINES[report.outcome]


def glance(report: HostReport) -> list[Fact]:
    """The few values that a reader looks for first."""
    confidence = text(report.data, "decision", "confidence")
    after = predicted(report)
    facts = [
        Fact("Page size now", size_text(report.now)),
        Fact("Recommended", size_text(report.recommended), "no change" if report.recommended == report.now else ""),
        Fact("Confidence", confidence or "not known", CONFIDENCE.get(confidence, "")),
        Fact("Data and indexes now", bytes_markup(report.data_bytes)),
    ]
    if not report.stay:
        facts.append(Fact(f"Expected at {size_text(report.recommended)}", bytes_markup(after), change_text(report.data_bytes, after)))
    return facts


def measured(report: HostReport) -> dict[str, Any]:
    """What was measured on the host: conclusion, age, circumstances, and whether it counted. Empty when nothing was."""
    given = mapping(report.data, "benchmark")
    if not given:
        return {}
    used = amount(report.data, "decision", "measured", "data_to_pool")
    rates = mapping(report.data, "benchmark", "by_data")
    note = ""
    if rates and used is None:
        note = "It did not count: no size of its data is like the server's, in parts of the buffer pool."
    elif used is not None:
        note = f"Data of {used:g} times the buffer pool are most like this server's, and counted."
    loads = ", ".join(texts(given, "plan", "loads"))
    age = number(report.data, "decision", "measured", "age_days")
    return {
        "conclusion": text(given, "conclusion"),
        "note": note,
        "facts": [
            Fact("Measured", date_text(text(given, "date")), "" if age is None else f"{age:g} days before this assessment"),
            Fact("With", text(given, "kind"), loads),
            Fact("Server", f"{text(given, 'engine')} {text(given, 'version')}".strip()),
        ],
        "circumstances": texts(given, "circumstances"),
    }


def predicted(report: HostReport) -> float | None:
    """Bytes expected at the recommended page size."""
    aim = report.candidates.get(report.recommended)
    return aim.predicted_bytes if aim else None


def sides(report: HostReport) -> list[Side]:
    """The reasons by what they speak for, in the order of their rank."""
    aim, name = report.recommended, size_text(report.recommended)
    titles = (f"For staying at {name}", f"Against staying at {name}") if report.stay else (f"For {name}", f"Against {name}")
    parts: dict[str, list[dict[str, Any]]] = {title: [] for title in (*titles, "Also looked at")}
    for reason in mappings(report.data, "decision", "reasons"):
        weight = direction(aim, report.now, sizes(reason, "favours"), sizes(reason, "against"))
        title = titles[0] if weight > 0 else titles[1] if weight < 0 else "Also looked at"
        parts[title].append(reason_view(reason))
    return [Side(title, reasons) for title, reasons in parts.items() if reasons or title in titles]


def direction(aim: int | None, now: int | None, favours: list[int], against: list[int]) -> int:
    """Whether a reason speaks for the recommended page size (1), against it (-1) or neither (0), seen from that of today.

    What favours other sizes only speaks against it. What is against other sizes only speaks for staying, but for no change.
    """
    # What is said of all sizes alike is no reason to choose one.
    favours, against = ([] if set(listed) >= set(PAGE_SIZES) else listed for listed in (favours, against))

    def weight(size: int | None) -> int:
        return (size in favours) - (size in against)

    difference = weight(aim) - (weight(now) if now != aim else 0)
    if difference:
        return 1 if difference > 0 else -1
    if favours and aim not in favours:
        return -1
    return int(aim == now and bool(against) and aim not in against)


def sizes(reason: dict[str, Any], key: str) -> list[int]:
    """The page sizes, in bytes, that a reason lists."""
    listed = reason.get(key)
    return [size for size in (page_size({"size": item}, "size") for item in listed) if size] if isinstance(listed, list) else []


def reason_view(reason: dict[str, Any]) -> dict[str, Any]:
    rank = text(reason, "rank")
    return {
        "text": text(reason, "text") or text(reason, "id"),
        "rank": text(reason, "rank_title") or RANKS.get(rank, rank.replace("_", " ")),
        "source": text(reason, "source"),
        "favours": ", ".join(map(size_text, sizes(reason, "favours"))),
        "against": ", ".join(map(size_text, sizes(reason, "against"))),
    }


def candidate_rows(report: HostReport) -> list[dict[str, Any]]:
    """Each page size that was looked at."""
    return [
        {
            "size": size_text(entry.size),
            "bytes": entry.size,
            "roles": [name for name, value in (("now", report.now), ("recommended", report.recommended)) if value == entry.size],
            "verdict": verdict(entry, report.now),
            "note": "" if entry.rehearsed or entry.size == report.now else "not rehearsed",
            "predicted": bytes_markup(entry.predicted_bytes),
            "error": f"±{NO_BREAK}{bytes_text(entry.error_bytes)}" if entry.error_bytes else "",
            "change": change_text(report.data_bytes, entry.predicted_bytes) if entry.size != report.now else "",
            "amplification": ratio_text(entry.read_amplification),
            "pages": count_text(entry.pages_in_pool),
        }
        for entry in report.candidates.values()
    ]


def verdict(entry: Candidate, now: int | None) -> str:
    if entry.blockers:
        return f"{len(entry.blockers)} in the way" if entry.allowed is False else f"{len(entry.blockers)} to look at"
    if entry.allowed is None:
        return "not known"
    return "in use" if entry.size == now else "nothing in the way" if entry.allowed else "not allowed"


def blocker_groups(report: HostReport) -> list[dict[str, Any]]:
    """What stands in the way at each page size, the most attractive size first."""
    barred = [entry for entry in report.candidates.values() if entry.blockers]
    barred.sort(key=lambda entry: (entry.size != report.recommended, -(entry.score or 0), -entry.size))
    return [{"size": size_text(entry.size), "blockers": [blocker_view(blocker) for blocker in entry.blockers]} for entry in barred]


def blocker_view(blocker: dict[str, Any]) -> dict[str, Any]:
    tried = flag(blocker, "remedy_tried")
    return {
        "object": text(blocker, "object") or text(blocker, "id"),
        "message": text(blocker, "message"),
        "aspect": text(blocker, "aspect"),
        "before": text(blocker, "before"),
        "after": text(blocker, "after"),
        "remedy": text(blocker, "remedy"),
        "tried": "tried on the private server" if tried else "not tried" if tried is False else "",
    }


def warning_groups(report: HostReport) -> list[dict[str, Any]]:
    """What to bear in mind at each page size but that of today."""
    return [
        {"size": size_text(entry.size), "chosen": entry.size == report.recommended, "warnings": entry.warnings}
        for entry in report.candidates.values()
        if entry.warnings and entry.size != report.now
    ]


def space_facts(report: HostReport) -> list[Fact]:
    """Bytes before and after, and whether there is room for a migration."""
    schema = ("facts", "schema")
    facts = [
        Fact("Data now", bytes_markup(amount(report.data, *schema, "data_bytes"))),
        Fact("Indexes now", bytes_markup(amount(report.data, *schema, "index_bytes"))),
        Fact("Together now", bytes_markup(report.data_bytes)),
    ]
    aim = report.candidates.get(report.recommended)
    if aim and not report.stay:
        error = f"±{NO_BREAK}{bytes_text(aim.error_bytes)}" if aim.error_bytes else ""
        facts.append(Fact(f"Expected at {size_text(aim.size)}", bytes_markup(aim.predicted_bytes), error))
    path, free = free_space(report)
    if path:
        facts.append(Fact(f"Free on {path}", bytes_markup(free), room(aim, free) if not report.stay else ""))
    return facts


def free_space(report: HostReport) -> tuple[str, float | None]:
    """The data directory and the free bytes of its file system; an empty path when it is not known."""
    path = text(report.data, "facts", "datadir").rstrip("/")
    return path, amount(report.data, "facts", "storage", path, "free_bytes")


def room(aim: Candidate | None, free: float | None) -> str:
    """Whether a migration finds the room that it needs beside the data of today."""
    if not aim or aim.predicted_bytes is None or free is None:
        return "what a migration needs is not known"
    needed = aim.needed_bytes or aim.predicted_bytes + (aim.error_bytes or 0)
    if needed <= free:
        return f"enough for the {bytes_text(needed)} that a migration needs"
    return f"a migration needs {bytes_text(needed)}, so {bytes_text(needed - free)} are missing"


def near_limits(report: HostReport) -> list[dict[str, str]]:
    """Tables whose declared rows or keys come near a limit."""
    kinds = {"row": "row", "key": "index key"}
    return [
        {
            "table": text(near, "table"),
            "size": size_text(page_size(near, "page_size")),
            "kind": kinds.get(text(near, "kind"), text(near, "kind")),
            "declared": count_text(amount(near, "declared_bytes")),
            "limit": count_text(amount(near, "limit_bytes")),
        }
        for near in mappings(report.data, "facts", "schema", "near_limits")
    ]


def checks(report: HostReport) -> dict[str, list[str]]:
    """What was looked at and what was not, as sentences."""
    left_out = [f"Facts of {name}: {why}" for name, why in mapping(report.data, "facts", "omitted").items()]
    if not report.data.get("rehearsal"):
        left_out.append("Whether the schema and its rows fit another page size: nothing was rehearsed on this host")
    tables = number(report.data, "facts", "schema", "table_list_omitted")
    if tables:
        left_out.append(f"{tables:,.0f} of the smaller tables one by one: they are in the sums only")
    errors = [f"{text(error, 'rule')}: {text(error, 'error')}" for error in mappings(report.data, "decision", "rule_errors")]
    return {
        "checked": texts(report.data, "rehearsal", "checked"),
        "not_checked": texts(report.data, "rehearsal", "not_checked") + left_out,
        "rule_errors": errors,
    }
