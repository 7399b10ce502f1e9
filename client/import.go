package client

import (
	"context"

	"freshet/internal/freshet"
)

// An Import is a list of pages as another program keeps it.
type Import struct {
	Text   string   `json:"text" minLength:"1" doc:"The list: addresses, OPML, jobs of urlwatch, or what changedetection.io exports"`
	Format string   `json:"format,omitempty" enum:"list,opml,urlwatch,changedetection" doc:"Missing means to guess"`
	Tags   []string `json:"tags,omitempty" nullable:"false" maxItems:"32" doc:"Given to all that is added, besides their own"`
	DryRun bool     `json:"dry_run,omitempty" doc:"Only say what would become of it"`
}

// An Imported says what became of a list.
type Imported struct {
	Format string         `json:"format" enum:"list,opml,urlwatch,changedetection"`
	DryRun bool           `json:"dry_run,omitempty" doc:"Nothing was added"`
	Added  int            `json:"added" doc:"Sources that were added, or would be"`
	Known  int            `json:"known" doc:"Pages that are watched already"`
	Wrong  int            `json:"wrong" doc:"Entries that cannot be watched"`
	Items  []ImportedItem `json:"items" nullable:"false" doc:"Entries in the order of the list"`
}

// An ImportedItem is an entry of a list.
type ImportedItem struct {
	Line   int              `json:"line,omitempty" doc:"Where it begins; missing if the format has no lines"`
	Result string           `json:"result" enum:"added,known,wrong"`
	ID     freshet.SourceID `json:"id,omitempty" doc:"Of the source, if there is one"`
	URL    string           `json:"url,omitempty"`
	Name   string           `json:"name,omitempty"`
	Tags   []string         `json:"tags,omitempty"`
	Read   []any            `json:"read,omitempty" doc:"Steps that it is read by"`
	Notes  []string         `json:"notes,omitempty" doc:"What is not carried over"`
	Error  string           `json:"error,omitempty" doc:"Why it cannot be watched"`
}

// Import adds the pages of a list, or says what would become of them.
func (c *Client) Import(ctx context.Context, list Import) (Imported, error) {
	return post[Imported](ctx, c, "/import", nil, list)
}
