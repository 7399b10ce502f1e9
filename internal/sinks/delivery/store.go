package delivery

import (
	"context"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/store"
)

// A Store is what sinks follow, and where their deliveries are recorded.
type Store interface {
	freshet.Store
	Outbox
	QueryLog
}

// An Outbox records deliveries, as [sinks.Store] does.
type Outbox interface {
	Place(ctx context.Context, reader string) (sinks.Position, error)
	Advance(ctx context.Context, reader string, to sinks.Position, owed []sinks.NewDelivery) error
	Debts(ctx context.Context, reader string, now time.Time, limit int) ([]sinks.PendingDelivery, time.Time, error)
	Settle(ctx context.Context, reader string, at ...sinks.Position) error
	Letters(ctx context.Context, reader string, after sinks.Position, limit int) ([]sinks.PendingDelivery, error)
	Revive(ctx context.Context, reader string, at ...sinks.Position) (int, error)
	Postpone(ctx context.Context, reader string, d sinks.PendingDelivery) error
	ShiftDebts(ctx context.Context, reader string, by time.Duration) error
	Owed(ctx context.Context, reader string) (open, dead int, err error)
	Retire(ctx context.Context, reader string, endpoint sinks.EndpointID, err string) error
	Retired(ctx context.Context, reader string, endpoint sinks.EndpointID) (bool, error)
	Accounts(ctx context.Context, reader string) ([]sinks.ReaderStatus, error)

	Sinks(ctx context.Context) ([]sinks.Record, error)
	Sink(ctx context.Context, name string) (sinks.Record, error)
	PutSink(ctx context.Context, name string, definition []byte, revision int64) (int64, error)
	NoteSink(ctx context.Context, name string, c sinks.Condition) error
	RemoveSink(ctx context.Context, name string) error
}

// A QueryLog has the matches of queries, as [queries.Store] does.
type QueryLog interface {
	Query(ctx context.Context, id queries.ID) (queries.Query, error)
	Matches(ctx context.Context, q queries.MatchQuery) ([]queries.Match, error)
	LastMatch(ctx context.Context) (freshet.Cursor, error)
	MatchEpochs(ctx context.Context) (freshet.Epochs, error)
	Batches(ctx context.Context, q queries.MatchQuery) ([]queries.Batch, error)
	WaitBatch(ctx context.Context, after freshet.Cursor) error
	LastBatch(ctx context.Context) (freshet.Cursor, error)
}

// joined is a Store on the tables of several features.
type joined struct {
	freshet.Store
	Outbox
	QueryLog
}

// NewStore returns what sinks use of a store and of its database.
func NewStore(s freshet.Store, db *store.DB) Store {
	return joined{s, sinks.NewStore(db), queries.NewStore(db)}
}
