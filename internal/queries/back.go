package queries

import (
	"math"
	"slices"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"freshet/internal/freshet"
)

const (
	maxBacks   = 8    // functions that look back in one query
	maxRecords = 5000 // that a group keeps
	maxUnasked = 1000 // that it keeps if nothing says for how long
	maxRefs    = 20   // changes that a match names
)

// A back is a function that looks back at the changes of a group.
type back struct {
	kind string
	arg  expression    // without a program: none
	over time.Duration // zero: as far as is remembered
}

func isBack(name string) bool {
	switch name {
	case "count", "sum", "lowest", "highest", "mean", "median", "previous", "distinct", "others", "first", "unseen", "after":
		return true
	}
	return false
}

// bounded reports whether it must be said how far back the function looks.
func (b back) bounded() bool {
	switch b.kind {
	case "first", "unseen", "previous", "others":
		return false
	}
	return true
}

// recorded reports whether the function looks at records. The others look at what was
// ever seen.
func (b back) recorded() bool { return b.kind != "first" && b.kind != "unseen" }

// A value is what is remembered of a change: nothing, a number, a text or a truth.
type value struct {
	kind   byte // 0, 'n', 't', 'b'
	number float64
	text   string
}

const maxText = 200 // bytes of a text that is remembered; of longer ones, their hash

// remember returns a value to be kept. What cannot be is missing.
func remember(v ref.Val) value {
	switch v := v.(type) {
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return value{}
		}
		return value{kind: 'n', number: float64(v)}
	case types.Int:
		return value{kind: 'n', number: float64(v)}
	case types.Bool:
		if v {
			return value{kind: 'b', number: 1}
		}
		return value{kind: 'b'}
	case types.String:
		if len(v) > maxText {
			return value{kind: 't', text: string(v[:maxText-len(freshet.Hash{})]) + freshet.HashOf([]byte(v)).String()[:32]}
		}
		return value{kind: 't', text: string(v)}
	case types.Timestamp:
		return value{kind: 'n', number: float64(v.UnixNano())}
	}
	return value{}
}

// errUnknown stands for a value that is not there.
var errUnknown = types.NewErr("there is no such value")

// recall returns what was remembered, for CEL.
func (v value) recall() ref.Val {
	switch v.kind {
	case 'n':
		return types.Double(v.number)
	case 'b':
		return types.Bool(v.number != 0)
	case 't':
		return types.String(v.text)
	}
	return errUnknown
}

// A record is a change as a group remembers it.
type record struct {
	at    int64 // nanoseconds
	nth   int64 // of the changes of the group, in the order of the log
	ref   freshet.ChangeRef
	args  []value // of the functions that look back
	slots []value // of the rest of the condition
	fired bool
}

// look returns what a function comes to for a record of a group, and the records that
// it rests on, the newest first.
func (b back) look(records []record, at, arg int) (result ref.Val, on []int) {
	own := &records[at]
	earlier := func(each func(i int, r *record) bool) {
		for i := at - 1; i >= 0; i-- {
			if b.over > 0 && records[i].at <= own.at-int64(b.over) || !each(i, &records[i]) {
				return
			}
		}
	}
	var numbers []float64
	fits := func(r *record) bool {
		return b.arg.program == nil || r.args[arg].kind == 'b' && r.args[arg].number != 0
	}
	switch b.kind {
	case "count":
		n := 0
		if fits(own) {
			n++
		}
		earlier(func(i int, r *record) bool {
			if fits(r) {
				n, on = n+1, newest(on, i)
			}
			return true
		})
		return types.Double(n), on
	case "after":
		earlier(func(i int, r *record) bool {
			if fits(r) {
				on = []int{i}
			}
			return len(on) == 0
		})
		return types.Bool(len(on) > 0), on
	case "previous":
		result = errUnknown
		earlier(func(i int, r *record) bool {
			if r.args[arg].kind != 0 {
				result, on = r.args[arg].recall(), []int{i}
			}
			return len(on) == 0
		})
		return result, on
	case "distinct":
		all := map[value]bool{}
		if own.args[arg].kind != 0 {
			all[own.args[arg]] = true
		}
		earlier(func(i int, r *record) bool {
			if v := r.args[arg]; v.kind != 0 && !all[v] {
				all[v], on = true, newest(on, i)
			}
			return true
		})
		return types.Double(len(all)), on
	case "others":
		return b.others(own, arg, earlier)
	case "sum":
		numbers = appendNumber(numbers, own.args[arg])
	}
	earlier(func(i int, r *record) bool {
		if r.args[arg].kind == 'n' {
			numbers, on = append(numbers, r.args[arg].number), newest(on, i)
		}
		return true
	})
	return summary(b.kind, numbers), on
}

// others returns the newest value of each other source of the group.
func (b back) others(own *record, arg int, earlier func(func(int, *record) bool)) (ref.Val, []int) {
	told := map[freshet.SourceID]bool{own.ref.Source: true}
	var list []ref.Val
	var on []int
	earlier(func(i int, r *record) bool {
		if v := r.args[arg]; v.kind != 0 && !told[r.ref.Source] {
			told[r.ref.Source] = true
			list, on = append(list, v.recall()), newest(on, i)
		}
		return len(list) < 100
	})
	if len(list) == 0 {
		// Nobody is cheaper than none: there is nothing to compare with.
		return errUnknown, nil
	}
	return types.NewRefValList(types.DefaultTypeAdapter, list), on
}

// newest adds a record to those that a match names, if there is room.
func newest(on []int, i int) []int {
	if len(on) == maxRefs {
		return on
	}
	return append(on, i)
}

func appendNumber(to []float64, v value) []float64 {
	if v.kind == 'n' {
		return append(to, v.number)
	}
	return to
}

// summary returns what numbers come to together.
func summary(kind string, numbers []float64) ref.Val {
	if len(numbers) == 0 {
		return errUnknown
	}
	total := 0.0
	for _, x := range numbers {
		total += x
	}
	switch kind {
	case "lowest":
		return types.Double(slices.Min(numbers))
	case "highest":
		return types.Double(slices.Max(numbers))
	case "mean":
		return types.Double(total / float64(len(numbers)))
	case "median":
		return types.Double(median(numbers))
	}
	return types.Double(total)
}

// median puts numbers in order and returns the middle one.
func median(numbers []float64) float64 {
	slices.Sort(numbers)
	half := len(numbers) / 2
	if len(numbers)%2 == 1 {
		return numbers[half]
	}
	return (numbers[half-1] + numbers[half]) / 2
}
