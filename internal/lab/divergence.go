package lab

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/learn/outlook"
)

// ChangesBehind is a divergence that counts the changes a copy lacks.
func ChangesBehind(_, held, current int) float64 { return float64(current - held) }

// ReadValues reads what pages say, as numbers: a page has the value of a row from the
// time of the row on. It returns how far a copy is from its page by a difference of
// values, as the divergence of [Measures]. Before its first row a page has the value of that row. Pages that the
// trace does not have are left out, and those without a row never diverge.
func ReadValues(file string, g *Grid, differ outlook.Difference) (func(page, held, current int) float64, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read values: %w", err)
	}
	defer f.Close()
	given := make([][]valueAt, len(g.Pages()))
	rows := csv.NewReader(f)
	rows.ReuseRecord, rows.FieldsPerRecord = true, 3
	for first := true; ; first = false {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) && !first {
			break
		}
		if err != nil {
			return nil, freshet.WithHint(fmt.Errorf("read values from %s: %w", file, err), `write a line "page,time,value", and one for each value after it`)
		}
		if first {
			if !slices.Equal(row, []string{"page", "time", "value"}) {
				return nil, invalid.Input(fmt.Errorf(`read values from %s: line 1, column 1: the header has to be "page,time,value"`, file))
			}
			continue
		}
		fault := func(field int, what string, err error) error {
			line, column := rows.FieldPos(field)
			return invalid.Input(fmt.Errorf("read values from %s: line %d, column %d: the %s %q %w", file, line, column, what, row[field], err))
		}
		at, err := parseSeconds(row[1])
		if err != nil {
			return nil, fault(1, "time", err)
		}
		x, err := strconv.ParseFloat(row[2], 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fault(2, "value", errors.New("is not a number"))
		}
		if page, ok := g.Page(freshet.SourceID(row[0])); ok {
			given[page] = append(given[page], valueAt{at, x})
		}
	}
	values := make([][]float64, len(given))
	for page, list := range given {
		values[page] = valuesAfter(g, page, list)
	}
	return func(page, held, current int) float64 { return differ(values[page][held], values[page][current]) }, nil
}

// A valueAt is a value from a time on, in nanoseconds since 1970.
type valueAt struct {
	at    int64
	value float64
}

// valuesAfter returns the value of a page before its first change, and after each.
func valuesAfter(g *Grid, page int, list []valueAt) []float64 {
	slices.SortStableFunc(list, func(a, b valueAt) int { return int(max(-1, min(1, a.at-b.at))) })
	until := func(instant int) float64 { // at the end of it
		end, value := g.Time(instant).UnixNano(), 0.0
		for i, v := range list {
			if i == 0 || v.at <= end {
				value = v.value
			}
		}
		return value
	}
	changes := g.Of(page)
	values := []float64{0}
	if len(changes) > 0 {
		values[0] = until(int(changes[0]) - 1)
	}
	for _, at := range changes {
		values = append(values, until(int(at)))
	}
	return values
}
