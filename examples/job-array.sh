#!/bin/sh
# One comparison on eight machines: each carries out a slice of its rounds. docs/job-array.md says how the slices become
# one result again.
#
#   sbatch examples/job-array.sh moka: memcached: -r 80
#
#SBATCH --job-name=larder
#SBATCH --array=1-8
#SBATCH --exclusive
#SBATCH --output=slice-%a.log
set -eu

# The number of the slice, from the scheduler or set by hand.
slice=${SLURM_ARRAY_TASK_ID:?no job array: set SLURM_ARRAY_TASK_ID to the number of the slice}
slices=${SLURM_ARRAY_TASK_COUNT:-8}

"${LARDER:-larder}" compare "$@" --slice "$slice/$slices" --quiet --format csv --output "slices/$slice"
