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
	Place(ctx context.Context, reader string) (freshet.Entry, error)
	Advance(ctx context.Context, reader string, to freshet.Entry, owed []freshet.Message) error
	Debts(ctx context.Context, reader string, now time.Time, limit int) ([]freshet.Debt, time.Time, error)
	Settle(ctx context.Context, reader string, at ...freshet.Entry) error
	Letters(ctx context.Context, reader string, after freshet.Entry, limit int) ([]freshet.Debt, error)
	Revive(ctx context.Context, reader string, at ...freshet.Entry) (int, error)
	Postpone(ctx context.Context, reader string, d freshet.Debt) error
	ShiftDebts(ctx context.Context, reader string, by time.Duration) error
	Owed(ctx context.Context, reader string) (open, dead int, err error)
	Retire(ctx context.Context, reader string, endpoint freshet.EndpointID, err string) error
	Retired(ctx context.Context, reader string, endpoint freshet.EndpointID) (bool, error)
	Accounts(ctx context.Context, reader string) ([]freshet.Account, error)

	Sinks(ctx context.Context) ([]freshet.SinkRecord, error)
	Sink(ctx context.Context, name string) (freshet.SinkRecord, error)
	PutSink(ctx context.Context, name string, definition []byte, revision int64) (int64, error)
	NoteSink(ctx context.Context, name string, c freshet.SinkCondition) error
	RemoveSink(ctx context.Context, name string) error
}

// A QueryLog has the matches of queries, as [queries.Store] does.
type QueryLog interface {
	Query(ctx context.Context, id freshet.QueryID) (freshet.Query, error)
	Matches(ctx context.Context, q freshet.MatchQuery) ([]freshet.Match, error)
	LastMatch(ctx context.Context) (freshet.Cursor, error)
	MatchEpochs(ctx context.Context) (freshet.Epochs, error)
	Parcels(ctx context.Context, q freshet.MatchQuery) ([]freshet.Parcel, error)
	WaitParcel(ctx context.Context, after freshet.Cursor) error
	LastParcel(ctx context.Context) (freshet.Cursor, error)
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
