"""Makes a world that fails smaller: fewer features, which also are its faults, and fewer operations."""

# A failure may need luck: a smaller world is taken for sound when it has not failed in so many runs.
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
