package client

import (
	"context"

	"freshet/internal/freshet"
)

// An Import is a list of pages as another program keeps it.
type Import struct {
	Text   string   `json:"text" minLength:"1" doc:"The list: addresses, CSV, OPML, bookmarks, jobs of urlwatch or webchanges, or an export of changedetection.io, Distill or Huginn"`
	Format string   `json:"format,omitempty" enum:"urls,list,csv,opml,miniflux,bookmarks,urlwatch,webchanges,changedetection,distill,huginn,warc,timemap" doc:"Missing means to detect it by the content; list is the old name of urls"`
	Tags   []string `json:"tags,omitempty" nullable:"false" maxItems:"32" doc:"Given to all that is added, besides their own"`
	DryRun bool     `json:"dry_run,omitempty" doc:"Only say what would become of it"`

	Intervals string `json:"intervals,omitempty" enum:"as-levels,as-gaps,ignore" doc:"What becomes of the time between two checks: most changes are to be captured within it (as-levels, the default), the page is polled at least so often (as-gaps), or nothing"`
}

// An Imported says what became of a list.
type Imported struct {
	Format string         `json:"format" enum:"urls,csv,opml,bookmarks,urlwatch,webchanges,changedetection,distill,huginn,warc,timemap"`
	DryRun bool           `json:"dry_run,omitempty" doc:"Nothing was added"`
	Added  int            `json:"added" doc:"Sources that were added, or would be"`
	Known  int            `json:"known" doc:"Pages that are watched already"`
	Wrong  int            `json:"wrong" doc:"Entries that cannot be watched"`
	Items  []ImportedItem `json:"items" nullable:"false" doc:"Entries in the order of the list"`

	Queries []string       `json:"queries,omitempty" doc:"IDs of the queries for the conditions of the list"`
	Sinks   []ImportedSink `json:"sinks,omitempty" doc:"Sinks for its receivers of notifications"`
}

// An ImportedSink is a receiver of notifications that a list has.
type ImportedSink struct {
	Name  string   `json:"name"`
	Notes []string `json:"notes,omitempty" doc:"Settings that are not carried over, with the nearest that exists"`
	Error string   `json:"error,omitempty" doc:"Why there is no such sink"`
}

// An ImportedItem is an entry of a list.
type ImportedItem struct {
	Line   int              `json:"line,omitempty" doc:"Where it begins; missing if the format has no lines"`
	Path   string           `json:"path,omitempty" doc:"Where it is in the document, if the format has no lines"`
	Result string           `json:"result" enum:"added,known,wrong"`
	ID     freshet.SourceID `json:"id,omitempty" doc:"Of the source, if there is one"`
	URL    string           `json:"url,omitempty"`
	Name   string           `json:"name,omitempty"`
	Tags   []string         `json:"tags,omitempty"`
	Read   []any            `json:"read,omitempty" doc:"Steps that it is read by"`
	Notes  []string         `json:"notes,omitempty" doc:"What is not carried over, with the nearest that exists"`
	Error  string           `json:"error,omitempty" doc:"Why it cannot be watched"`
}

// Import adds the pages of a list, or says what would become of them.
func (c *Client) Import(ctx context.Context, list Import) (Imported, error) {
	return post[Imported](ctx, c, "/import", nil, list)
}
