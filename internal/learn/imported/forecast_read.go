package imported

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/units"
)

// ReadForecast reads a forecast from a file: JSON as the API takes it, a JSON array of times,
// or a table as ReadChanceTable has it. What is wrong is named with its line, where there
// are lines.
func ReadForecast(in io.Reader) (c Forecast, err error) {
	r := bufio.NewReader(in)
	begin, err := firstByte(r)
	if err != nil {
		return c, err
	}
	if begin == '{' || begin == '[' {
		text, err := io.ReadAll(io.LimitReader(r, mostChanceText+1))
		if err != nil {
			return c, err
		}
		if len(text) > mostChanceText {
			return c, fmt.Errorf("is longer than %s", units.FormatSize(mostChanceText))
		}
		return c, readJSON(text, begin, &c)
	}
	err = ReadTable(r, func(page string, at Chance) error {
		if page != "" {
			return errors.New(`has a column "page"; give the chances of one source`)
		}
		c.Times = append(c.Times, at)
		return nil
	})
	if err == nil && len(c.Times) == 0 {
		err = errors.New("has no times")
	}
	return c, err
}

// mostChanceText is how long a file of chances can be.
const mostChanceText = 4 << 20

// firstByte returns the first byte that is not space, and leaves it to be read.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if !bytes.ContainsRune([]byte(" \t\r\n"), rune(b)) {
			return b, r.UnreadByte()
		}
	}
}

func readJSON(text []byte, begin byte, c *Forecast) error {
	to := any(c)
	if begin == '[' {
		to = &c.Times
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if d.More() {
		return errors.New("has something after the end of the JSON")
	}
	return nil
}

// ReadTable reads a table in the form of CSV, a time a line: its columns "time",
// and perhaps "until", "chance", "expected" and "page", are named in the first line.
// Where no names are they are time and chance. Times are those of RFC 3339, or Unix
// seconds. Empty lines and those that begin with # are passed over.
func ReadTable(in io.Reader, each func(page string, at Chance) error) error {
	columns := []string{"time", "chance"}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n, first := 1, true; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells, err := csv.NewReader(strings.NewReader(line)).Read()
		if err != nil {
			return fmt.Errorf("line %d: %w", n, cmp.Or(errors.Unwrap(err), err))
		}
		if names := columnNames(cells); first && slices.Contains(names, "time") {
			first, columns = false, names
			continue
		}
		first = false
		page, at, err := chanceOf(columns, cells)
		if err == nil {
			err = each(page, at)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}

// columnNames returns cells as the names of columns.
func columnNames(cells []string) (names []string) {
	for _, cell := range cells {
		names = append(names, strings.ToLower(strings.TrimSpace(cell)))
	}
	return names
}

// chanceOf reads a line of a table.
func chanceOf(columns, cells []string) (page string, at Chance, err error) {
	if len(cells) > len(columns) {
		return "", at, fmt.Errorf("has %d cells, and there are %d columns", len(cells), len(columns))
	}
	for i, cell := range cells {
		cell = strings.TrimSpace(cell)
		if cell == "" {
			continue
		}
		switch columns[i] {
		case "time":
			at.At, err = timeOf(cell)
		case "until":
			at.Until, err = timeOf(cell)
		case "chance":
			at.Chance, err = numberOf(cell)
		case "expected":
			at.Expected, err = numberOf(cell)
		case "page":
			page = cell
		}
		if err != nil {
			return "", at, fmt.Errorf("%s: %w", columns[i], err)
		}
	}
	return page, at, plainly(at.check("time"))
}

// plainly says of a line what is wrong with a chance.
func plainly(err error) error {
	field, ok := invalid.FieldOf(err)
	if !ok {
		return err
	}
	_, column, _ := strings.Cut(field, ".")
	if column == "at" {
		column = "time"
	}
	return fmt.Errorf("%s: %w", column, invalid.ReasonOf(err))
}

func timeOf(cell string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, cell); err == nil {
		return t.UTC(), nil
	}
	if seconds, err := strconv.ParseInt(cell, 10, 64); err == nil && seconds >= 0 && seconds < 1e10 {
		return time.Unix(seconds, 0).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("%.80q is not a time such as 2026-01-31T14:05:00Z", cell)
}

func numberOf(cell string) (*float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSuffix(cell, "%"), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, fmt.Errorf("%.80q is not a number", cell)
	}
	if strings.HasSuffix(cell, "%") {
		x /= 100
	}
	return &x, nil
}
