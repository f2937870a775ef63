"""Readers who are sent something long, and whose turn it is."""

from __future__ import annotations

import asyncio

from server.sync.rota import AT_ONCE, Rota


async def turns(rota: Rota, wrote: list[int], enough: int) -> list[list[int]]:
    """What was written in each turn of the loop, until there is enough of it."""
    seen: list[list[int]] = []
    for _ in range(1_000):
        before = len(wrote)
        await asyncio.sleep(0)
        if len(wrote) > before:
            seen.append(wrote[before:])
        if len(wrote) >= enough:
            return seen
    raise AssertionError(f"stands still at {len(wrote)} of {enough}")


async def test_many_are_written_to_a_few_in_a_turn_and_each_in_its_order() -> None:
    rota, wrote = Rota(), list[int]()
    for reader in range(3 * AT_ONCE + 1):
        rota.add(lambda reader=reader: wrote.append(reader))  # type: ignore[misc]
    assert not wrote, "never within the call that brought it"
    seen = await turns(rota, wrote, 3 * AT_ONCE + 1)
    assert [len(turn) for turn in seen] == [AT_ONCE, AT_ONCE, AT_ONCE, 1]
    assert wrote == sorted(wrote)


async def test_who_has_more_to_come_waits_for_all_others_first() -> None:
    rota, wrote = Rota(), list[int]()
    readers = 2 * AT_ONCE

    def write(reader: int) -> None:
        wrote.append(reader)
        rota.add(lambda: write(reader))

    for reader in range(readers):
        rota.add(lambda reader=reader: write(reader))  # type: ignore[misc]
    seen = await turns(rota, wrote, 3 * readers)
    assert wrote[: 3 * readers] == [*range(readers)] * 3
    assert all(len(turn) <= AT_ONCE for turn in seen)


async def test_who_comes_while_others_are_written_to_is_behind_them() -> None:
    rota, wrote = Rota(), list[int]()
    for reader in range(AT_ONCE + 1):
        rota.add(lambda reader=reader: wrote.append(reader))  # type: ignore[misc]
    await asyncio.sleep(0)
    rota.add(lambda: wrote.append(99))
    await turns(rota, wrote, AT_ONCE + 2)
    assert wrote == [*range(AT_ONCE + 1), 99]


async def test_an_error_of_one_keeps_nobody_else_from_their_turn() -> None:
    rota, wrote, errors = Rota(), list[int](), list[str]()
    asyncio.get_running_loop().set_exception_handler(lambda _, about: errors.append(str(about["exception"])))

    def fail() -> None:
        raise ValueError("a wire that broke")

    rota.add(fail)
    for reader in range(AT_ONCE):
        rota.add(lambda reader=reader: wrote.append(reader))  # type: ignore[misc]
    await turns(rota, wrote, AT_ONCE)
    assert errors == ["a wire that broke"]
    assert wrote == [*range(AT_ONCE)]


async def test_who_waits_for_a_turn_may_give_up() -> None:
    rota, came = Rota(1), list[int]()

    async def come(number: int) -> None:
        await rota.turn()
        came.append(number)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(come(number)) for number in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()
    assert came == [0, 2, 3]
