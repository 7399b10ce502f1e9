package client

import (
	"context"
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn/imported"
)

// A Taught summarizes the imported update times of a source.
type Taught struct {
	Times int       `json:"times" doc:"Number of imported update times"`
	From  time.Time `json:"from" doc:"The first of them"`
	To    time.Time `json:"to" doc:"The last of them"`
}

// TaughtOf returns a summary of imported update times; nil if there are none.
func TaughtOf(t imported.History) *Taught {
	all := t.All()
	if len(all) == 0 {
		return nil
	}
	from, to := t.Span()
	return &Taught{Times: len(all), From: from.UTC(), To: to.UTC()}
}

// Words says it in a sentence; "" if there is nothing to say.
func (t *Taught) Words() string {
	switch {
	case t == nil:
		return ""
	case t.Times == 1:
		return fmt.Sprintf("taught 1 update time, of %s", t.From.Format(time.DateOnly))
	}
	return fmt.Sprintf("taught %d update times from %s to %s", t.Times, t.From.Format(time.DateOnly), t.To.Format(time.DateOnly))
}

// TimesToImport are update times of a source that are known from elsewhere.
type TimesToImport struct {
	Times []imported.UpdateTime `json:"times" maxItems:"100000" nullable:"false" doc:"When the source changed: after one moment and no later than another, which can be the same"`
}

// An ImportedCount says how many update times were imported.
type ImportedCount struct {
	Added  int     `json:"added" doc:"Number of times that are new"`
	Taught *Taught `json:"taught,omitempty" doc:"All imported update times"`
}

// TaughtTimes are the imported update times of a source.
type TaughtTimes struct {
	Times []imported.UpdateTime `json:"times" nullable:"false" doc:"In the order of time"`
	Next  string                `json:"next,omitempty" doc:"Pass this as after to get more; absent if there is none"`
}

// ImportTimes imports when a source changed, as known from elsewhere. A time that was
// imported before counts once.
func (r Sources) ImportTimes(ctx context.Context, id freshet.SourceID, times []imported.UpdateTime) (ImportedCount, error) {
	return post[ImportedCount](ctx, r.c, r.sourcePath(id, "taught"), nil, TimesToImport{times})
}

// ImportedTimes returns all imported update times of a source.
func (r Sources) ImportedTimes(ctx context.Context, id freshet.SourceID) (t TaughtTimes, err error) {
	for after := ""; ; {
		asked := query{}
		asked.text("after", after)
		page, err := get[TaughtTimes](ctx, r.c, r.sourcePath(id, "taught"), asked)
		if err != nil {
			return t, err
		}
		t.Times = append(t.Times, page.Times...)
		if after = page.Next; after == "" {
			return t, nil
		}
	}
}
