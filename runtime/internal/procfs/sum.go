package procfs

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// Total is what the living processes below one use together.
type Total struct {
	User, System time.Duration // also of those that they have waited for
	Memory       int64         // resident, in bytes; shared pages count for each
}

// ticks is the length of the kernel's clock tick as proc(5) counts it; it is 100 Hz wherever Go runs (sysconf(3)).
const ticks = time.Second / 100

// Sum adds up what the descendants of each root use. The roots themselves do not count.
func Sum(roots []int) map[int]Total {
	sums := map[int]Total{}
	for _, root := range roots {
		var sum Total
		for _, pid := range Descendants(root) {
			b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			if err != nil {
				continue // it has ended
			}
			f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // f[0] is field 3 of proc(5)
			if len(f) < 22 {
				continue
			}
			n := func(field int) int64 {
				v, _ := strconv.ParseInt(f[field-3], 10, 64) // 0 for what is no number
				return v
			}
			sum.User += time.Duration(n(14)+n(16)) * ticks
			sum.System += time.Duration(n(15)+n(17)) * ticks
			sum.Memory += n(24) * int64(os.Getpagesize())
		}
		sums[root] = sum
	}
	return sums
}
