package lab

import (
	"errors"
	"fmt"
	"os"

	"freshet/internal/freshet"
	"freshet/internal/learn/imported"
)

// ReadChances reads the chances of pages from a CSV file with the columns page and time,
// and perhaps chance, until and expected. They hold from the beginning of the grid, or
// from the first of the times of a page, until the last of its times is over.
func ReadChances(path string, g *Grid) (map[freshet.SourceID]imported.Forecast, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	given := map[freshet.SourceID]imported.Forecast{}
	err = imported.ReadTable(file, func(page string, at imported.Chance) error {
		id := freshet.SourceID(page)
		if page == "" {
			return errors.New(`has no "page"`)
		}
		if _, ok := g.Page(id); !ok {
			return fmt.Errorf("page %q is not in the trace", page)
		}
		c := given[id]
		c.Times = append(c.Times, at)
		given[id] = c
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for id, c := range given {
		if given[id], err = c.Given(g.Start); err != nil {
			return nil, fmt.Errorf("%s: page %s: %w", path, id, err)
		}
	}
	return given, nil
}
