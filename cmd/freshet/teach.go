package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/learn/imported"
)

func teachVerb(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import SOURCE FILE",
		Short: "Import past change times of a source from a file",
		Long: `Import when a source changed in the past: from a log of the publisher, an archive or
another program. The daemon learns from it how often and at which hours the source
changes, and "freshet lab plan --from-store" plans from it. Imported times count neither as
polls nor as captures. Importing the same times again changes nothing.

The file has one RFC 3339 time per line. Two times, separated by a space, a comma or a
slash, mean that the source changed between them. CSV files and JSON lines have a
"time" and optionally an "until". "-" reads standard input.`,
		Example: "  freshet learning import weather times.txt\n  freshet learning import weather updates.csv --json\n  zcat log.gz | awk '{print $1}' | freshet learning import weather -",
		Args:    takes(2, 2),
	}
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		in, name := p.in, "standard input"
		if args[1] != "-" {
			file, err := os.Open(args[1])
			if err != nil {
				return err
			}
			defer file.Close()
			in, name = file, args[1]
		}
		times, err := readTimes(in)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s, err := c.watched(ctx, args[0])
		if err != nil {
			return err
		}
		lesson, err := c.Sources.ImportTimes(ctx, s.ID, times)
		if err != nil {
			return fmt.Errorf("import times of %s: %w", s.ID, err)
		}
		if asJSON {
			return p.printJSON(lesson)
		}
		_, err = fmt.Fprintf(p.out, "%s: %s of %s new; %s\n", label(s), counted(lesson.Added, "time"), counted(len(times), "time"), lesson.Taught.Words())
		return err
	}), 1)
}

// readTimes reads update times, in any of the forms that learning import takes.
func readTimes(in io.Reader) (times []imported.UpdateTime, err error) {
	var columns map[string]int // of a CSV file
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var u imported.UpdateTime
		switch {
		case strings.HasPrefix(line, "{"):
			u, err = timeOfJSON(line)
		case columns != nil:
			u, err = timeOfRow(line, columns)
		default:
			if columns = columnsOf(line); columns != nil && len(times) == 0 {
				continue
			}
			columns = nil
			u, err = timeOfLine(line)
		}
		if err != nil {
			return nil, usagef("line %d: %w", n, err)
		}
		times = append(times, u)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(times) == 0 {
		return nil, usagef("has no times")
	}
	return times, nil
}

// columnsOf returns the columns of a CSV file by their names, if a line is its head.
func columnsOf(line string) map[string]int {
	names, err := csv.NewReader(strings.NewReader(line)).Read()
	if err != nil {
		return nil
	}
	columns := map[string]int{}
	for i, name := range names {
		columns[strings.ToLower(strings.TrimSpace(name))] = i
	}
	if _, ok := columns["time"]; !ok {
		return nil
	}
	return columns
}

func timeOfRow(line string, columns map[string]int) (imported.UpdateTime, error) {
	cells, err := csv.NewReader(strings.NewReader(line)).Read()
	if err != nil {
		return imported.UpdateTime{}, err
	}
	cell := func(name string) string {
		if i, ok := columns[name]; ok && i < len(cells) {
			return strings.TrimSpace(cells[i])
		}
		return ""
	}
	return timesOf(cell("time"), cell("until"))
}

func timeOfJSON(line string) (imported.UpdateTime, error) {
	var row struct {
		Time  string `json:"time"`
		Until string `json:"until"`
	}
	if err := json.Unmarshal([]byte(line), &row); err != nil {
		return imported.UpdateTime{}, err
	}
	if row.Time == "" {
		return imported.UpdateTime{}, fmt.Errorf(`has no "time"`)
	}
	return timesOf(row.Time, row.Until)
}

func timeOfLine(line string) (imported.UpdateTime, error) {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t,/", r) })
	if len(words) == 0 || len(words) > 2 {
		return imported.UpdateTime{}, fmt.Errorf("%.80q is not one time or two", line)
	}
	return timesOf(words[0], strings.Join(words[1:], ""))
}

// timesOf reads when a source changed; without an end that is a moment.
func timesOf(after, until string) (u imported.UpdateTime, err error) {
	if u.After, err = time.Parse(time.RFC3339, after); err != nil {
		return u, fmt.Errorf("%.80q is not a time such as 2026-01-31T14:05:00Z", after)
	}
	if u.Until = u.After; until == "" {
		return u, nil
	}
	if u.Until, err = time.Parse(time.RFC3339, until); err != nil {
		return u, fmt.Errorf("%.80q is not a time such as 2026-01-31T14:05:00Z", until)
	}
	if u.Until.Before(u.After) {
		return u, fmt.Errorf("%s is before %s", until, after)
	}
	return u, nil
}
