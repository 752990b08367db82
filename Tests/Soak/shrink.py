"""Makes a failing world smaller: fewer features, which include its faults, and fewer operations."""

# A failure may depend on chance: a smaller world counts as sound after this many runs without a failure.
TRIES = 2


def smallest(fails, features, operations, report):
    def still(features, operations):
        return any(fails(features, operations) for _ in range(TRIES))

    # Large parts first, then each feature by itself.
    size = max(1, len(features) // 2)
    while features and size >= 1:
        for first in range(0, len(features), size):
            rest = features[:first] + features[first + size :]
            if still(rest, operations):
                features = rest
                report(f"    still fails with {len(features)} features: {','.join(features)}")
                break
        else:
            size //= 2
        size = min(size, len(features)) if features else 0
    while operations > 15 and still(features, operations // 2):
        operations //= 2
        report(f"    still fails with {operations} operations")
    return features, operations
