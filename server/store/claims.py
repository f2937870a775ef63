"""What becomes of a client id that is claimed again (I4). Pure; both logs decide by this and by nothing else."""

from __future__ import annotations

from server.domain.log import Claim


def settle(present: Claim | None, claim: Claim) -> Claim | None:
    """The claim that stands afterwards; None if both are final and of two principals, so that the claimant is wrong.

    A provisional claim yields to anybody's final one, and never displaces what is there.
    """
    if present is None:
        return claim
    if present.principal == claim.principal:
        provisional = present.provisional and claim.provisional
        return Claim(claim.client, claim.principal, provisional, present.composed or claim.composed)
    if claim.provisional:
        return present
    return claim if present.provisional else None
