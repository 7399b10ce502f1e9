package lab

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"freshet/internal/freshet"
)

// ReadWeights reads the importance of pages, which are 1 unless the file says
// otherwise. Pages that the trace does not have are left out.
func ReadWeights(file string, g *Grid) ([]float64, error) {
	weights := make([]float64, len(g.Pages()))
	for i := range weights {
		weights[i] = 1
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read weights: %w", err)
	}
	defer f.Close()
	rows := csv.NewReader(f)
	rows.ReuseRecord, rows.FieldsPerRecord = true, 2
	for first := true; ; first = false {
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF) && !first:
			return weights, nil
		case err != nil:
			return nil, freshet.WithHint(fmt.Errorf("read weights from %s: %w", file, err), `write a line "page,weight", and one for each page after it`)
		case first:
			if row[0] != "page" || row[1] != "weight" {
				return nil, fmt.Errorf(`read weights from %s: line 1, column 1: the header has to be "page,weight"`, file)
			}
			continue
		}
		w, err := strconv.ParseFloat(row[1], 64)
		if err != nil || !(w > 0) || w > 1e9 {
			line, column := rows.FieldPos(1)
			return nil, fmt.Errorf("read weights from %s: line %d, column %d: the weight %q is not a number above 0", file, line, column, row[1])
		}
		if page, ok := g.Page(freshet.SourceID(row[0])); ok {
			weights[page] = w
		}
	}
}
