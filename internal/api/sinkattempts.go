package api

import (
	"context"
	"fmt"
	"math"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/sinks/delivery"
)

type listOwedInput struct {
	Name  string `path:"name" maxLength:"64" doc:"Name of the sink"`
	Limit int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"Most deliveries to return"`

	Offset int `query:"offset" minimum:"0" maximum:"1000000" doc:"Leave out this many"`
}

func (a *api) listOwed(ctx context.Context, in *listOwedInput) (*bodyOf[client.OwedList], error) {
	if a.Sinks == nil {
		return nil, errNoSinks()
	}
	debts, err := a.Sinks.Owed(ctx, in.Name, in.Offset+in.Limit+1)
	if err != nil {
		return nil, err
	}
	list := client.OwedList{Items: []client.Owed{}}
	debts = debts[min(in.Offset, len(debts)):]
	if len(debts) > in.Limit {
		next := in.Offset + in.Limit
		debts, list.Next = debts[:in.Limit], &next
	}
	for _, d := range debts {
		list.Items = append(list.Items, client.Owed{Letter: letterOf(d), Next: utc(d.Due)})
	}
	return &bodyOf[client.OwedList]{list}, nil
}

type listAttemptsInput struct {
	Name  string `path:"name" maxLength:"64" doc:"Name of the sink"`
	After string `query:"after" maxLength:"200" doc:"Only what comes after this: the next of the page before"`
	Limit int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"At most this many"`
}

func (a *api) listAttempts(ctx context.Context, in *listAttemptsInput) (*bodyOf[client.AttemptList], error) {
	if a.Sinks == nil {
		return nil, errNoSinks()
	}
	made, err := a.Sinks.Attempts(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	list := client.AttemptList{Items: []client.Attempt{}}
	made, list.Next = paged(paging{in.After, in.Limit}, made, func(d delivery.Delivery) string {
		return fmt.Sprintf("%020d-%s-%d", math.MaxInt64-d.Ended.UnixNano(), d.ID, d.Attempt)
	})
	for _, d := range made {
		told := client.Attempt{ID: d.ID, At: utc(d.Ended), Node: d.Node, Attempt: d.Attempt, Took: float64(d.Took.Microseconds()) / 1000, Accepted: d.Err == nil, GivenUp: d.GivenUp}
		if d.Err != nil {
			told.Error, told.Hint = d.Err.Error(), freshet.HintOf(d.Err)
		}
		list.Items = append(list.Items, told)
	}
	return &bodyOf[client.AttemptList]{list}, nil
}
