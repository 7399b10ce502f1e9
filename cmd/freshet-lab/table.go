package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// A table is rows of text in columns.
type table struct {
	head string // names of the columns, with tabs between them
	rows []string
}

// add adds a row of cells.
func (t *table) add(cells ...any) {
	var texts []string
	for _, c := range cells {
		texts = append(texts, fmt.Sprint(c))
	}
	t.rows = append(t.rows, strings.Join(texts, "\t"))
}

// write prints the table, without blanks at the end of lines.
func (t *table) write(w io.Writer) error {
	var lined strings.Builder
	columns := tabwriter.NewWriter(&lined, 0, 0, 2, ' ', 0)
	for _, row := range append([]string{t.head}, t.rows...) {
		fmt.Fprintln(columns, row)
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(lined.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}
