"""The sentences of a resumption in Chinese. Owns the words; must never decide what is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from server.domain import quoting
from server.domain.facts import Item, severity, standing_answers
from server.domain.grouping import Deeds, by_whom, fields_of, is_begun
from server.domain.quoting import LABEL, one_line, shorten, stop

_PAIRS: Final = ("“”", "「」", "«»")
_GRAVE: Final = {"critical": "关键", "important": "重要"}
_STATES: Final = {
    "draft": "草稿", "done": "已完成", "final": "定稿", "finished": "已完成", "accepted": "已接受",
    "delivered": "已交付", "succeeded": "已成功", "cancelled": "已取消", "failed": "已失败", "running": "进行中",
}  # fmt: skip
_KINDS: Final = {
    "constraint": "约束", "decision": "决定", "question": "问题", "output": "成果", "document": "文档",
    "message": "消息", "dialogue": "对话流程", "call": "工具调用", "next_step": "下一步", "goal": "目标",
}  # fmt: skip
_DEEDS: Final = {
    "added": "新增了", "edited": "修改了", "answered": "回答了", "retired": "撤销了", "superseded": "取代了",
    "removed": "删除了",
}  # fmt: skip
_UNITS: Final = ((86400, "天"), (3600, "小时"), (60, "分钟"))


def quote(text: str) -> str:
    """People's words in quotes."""
    return quoting.quote(text, _PAIRS)


def ago(seconds: float) -> str:
    """How long ago, roughly."""
    for unit, name in _UNITS:
        if seconds >= unit:
            return f"{int(seconds // unit)} {name}前"
    return "刚刚"


def listed(parts: Iterable[str]) -> str:
    """“a”、“b”和“c”."""
    *some, last = parts
    return f"{'、'.join(some)}和{last}" if some else last


def _among(parts: Sequence[str], more: int, counted: str) -> str:
    rest = f"另有 {more} {counted}" if more else ""
    return "，".join(part for part in (listed(parts) if parts else "", rest) if part)


class Chinese:
    """Each function is one whole sentence."""

    BETWEEN: Final = ""
    quote = staticmethod(quote)

    @staticmethod
    def opening(name: str) -> str:
        """What they were on."""
        return f"您之前在处理{quote(name)}。要继续吗？"

    @staticmethod
    def unreadable() -> str:
        """That the ledger can't be read now."""
        return "其中的内容和变更目前无法读取。没有任何内容丢失：仍可编辑和导出，服务器的管理者可以修复它。"

    @staticmethod
    def goal(text: str) -> str:
        """What it is for."""
        return stop(f"目标：{quote(text)}", "。")

    @staticmethod
    def constraints(told: Sequence[Item], more: int) -> str:
        """What must hold."""
        return stop(f"必须满足：{_among([_constraint(item) for item in told], more, '条约束')}", "。")

    @staticmethod
    def decisions(told: Sequence[Item], more: int) -> str:
        """What is settled."""
        return stop(f"已决定：{_among([_decision(item) for item in told], more, '项决定')}", "。")

    @staticmethod
    def conflict(sides: Sequence[Item]) -> str:
        """Decisions that stand against each other."""
        return stop(f"尚未定论，决定互相冲突：{'与'.join(map(_decision, sides))}", "。")

    @staticmethod
    def open(told: Sequence[Item]) -> str:
        """What nobody has answered."""
        return stop(f"尚待解决：{listed(quote(item['text']) for item in told)}", "。")

    @staticmethod
    def disputed(told: Sequence[Item]) -> str:
        """What was answered in different ways."""
        parts = [f"{quote(q['text'])}的回答有{'与'.join(_answers(q))}" for q in told]
        return stop(f"尚未定论，回答互相冲突：{'；'.join(parts)}", "。")

    @staticmethod
    def answered(told: Sequence[Item], more: int) -> str:
        """What was answered."""
        parts = [f"{quote(q['text'])}的回答是{listed(_answers(q))}" for q in told]
        return stop(f"已有答案：{_among(parts, more, '个问题')}", "。")

    @staticmethod
    def outputs(told: Sequence[Item], more: int) -> str:
        """What has come of it."""
        return stop(f"成果：{_among([_output(item) for item in told], more, '项已完成的成果')}", "。")

    @staticmethod
    def calls(told: Sequence[Item]) -> str:
        """Tool calls that wait or are half done."""
        held = [f"工具调用{quote(call['text'])}（{_call_state(call)}）" for call in told]
        return f"尚未完成：{listed(held)}。"

    @staticmethod
    def dialogues(told: Sequence[Item]) -> str:
        """Dialogues that wait for more."""
        return stop(f"未结束的对话流程：{listed(map(_dialogue, told))}", "。")

    @staticmethod
    def next_steps(told: Sequence[Item]) -> str:
        """What people said they would do next."""
        return stop(f"下一步：{listed(quote(item['text']) for item in told)}", "。")

    @staticmethod
    def follows(step: Item) -> str:
        """What comes next where nobody has said it."""
        if step["kind"] == "question":
            return stop(f"下一步：解决{quote(step['text'])}", "。")
        if step["text"] == step["title"]:
            return stop(f"下一步：完成{quote(step['title'])}", "。")
        return stop(f"{quote(step['title'])}的下一步：{quote(step['text'])}", "。")

    @staticmethod
    def unchanged(seconds: float) -> str:
        """That nothing happened since."""
        return f"自您上次查看（{ago(seconds)}）以来没有变更。"

    @staticmethod
    def changes(told: Sequence[Item], more: int, looked: float, now: float) -> str:
        """What happened since, by whom and when."""
        parts = [f"{_who(one.actor)}{_deeds(one)}{_when(one, now)}" for one in by_whom(told)]
        if more:
            parts.append(f"另有 {more} 项变更")
        return f"自您上次查看（{ago(now - looked)}）以来：{'；'.join(parts)}。"

    @staticmethod
    def not_filed(told: Sequence[Item]) -> str:
        """What was said and found no place in the ledger."""
        return stop(f"说过但未归档：{listed(quote(item['text']) for item in told)}", "。")

    @staticmethod
    def unanswered(told: Sequence[Item], more: int) -> str:
        """What was said and no agent answered."""
        return stop(f"未得到回答：{_among([quote(item['text']) for item in told], more, '条更早的消息')}", "。")


def _constraint(item: Item) -> str:
    grave = severity(item)
    if grave == "normal":
        return quote(item["text"])
    told = _GRAVE.get(grave) or f"严重程度{quote(shorten(item['severity'], LABEL))}"
    return f"{quote(item['text'])}（{told}）"


def _decision(item: Item) -> str:
    topic = one_line(item.get("topic") or "")
    return f"{quote(item['text'])}（关于{quote(topic)}）" if topic else quote(item["text"])


def _answers(question: Item) -> list[str]:
    return [quote(answer["text"]) for answer in standing_answers(question)]


def _output(item: Item) -> str:
    following = one_line(item.get("next") or "")
    state = _STATES.get(item["status"]) or quote(item["status"])
    return f"{quote(item['text'])}（{state}{f'，下一步{quote(following)}' if following else ''}）"


def _call_state(call: Item) -> str:
    match is_begun(call["status"]):
        case True:
            return "已开始"
        case False:
            return "等待批准"
        case None:
            return quote(call["status"])


def _dialogue(item: Item) -> str:
    fields = [quote(field) for field in fields_of(item)]
    return f"{quote(item['text'])}（{listed(fields)}）" if fields else quote(item["text"])


def _who(actor: tuple[Any, ...]) -> str:
    by, device, agent, you = actor
    person = "您" if you else quote(by) if by else "有人"
    if agent:
        return f"智能体{quote(agent)}（代表{person}）"
    return f"{person}在{quote(device)}上" if device else person


def _deeds(one: Deeds) -> str:
    parts = [f"{_DEEDS[what]}{listed(map(_thing, items))}" for what, items in one.deeds]
    if one.messages:
        parts.append(f"写了 {one.messages} 条消息")
    return "，".join(parts)


def _when(one: Deeds, now: float) -> str:
    return "" if one.at is None else f"（{ago(now - one.at)}）"


def _thing(item: Item) -> str:
    kind = _KINDS[item["kind"]]
    if item["kind"] == "goal":
        return kind
    if not one_line(item["text"]):
        return f"一个{kind}"
    return f"{kind}{_constraint(item) if item['kind'] == 'constraint' else quote(item['text'])}"
