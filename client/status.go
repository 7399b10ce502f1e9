package client

import (
	"context"
	"net/http"
	"time"

	"freshet"
)

// A Status is how the program is doing, as the API tells it.
type Status struct {
	Version    string         `json:"version"`
	StartedAt  time.Time      `json:"started_at"`
	Ready      bool           `json:"ready" doc:"Polls are being made and can be recorded"`
	Trouble    string         `json:"trouble,omitempty" doc:"Why not, if not"`
	Clock      string         `json:"clock,omitempty" doc:"How the clock of the machine was last set, if that was noticed since the start"`
	Running    bool           `json:"running" doc:"Polls are being made"`
	Budget     string         `json:"budget"`
	Limits     Limits         `json:"limits" doc:"What keeps polls apart, besides the budget"`
	Sources    int64          `json:"sources"`
	Loading    *Loading       `json:"loading,omitempty" doc:"How far the daemon is with the sources of its file, while it takes them on"`
	UnderWay   int64          `json:"under_way" doc:"Polls at this moment"`
	Polls      int64          `json:"polls" doc:"Since the start"`
	Captured   int64          `json:"captured" doc:"Versions, since the start"`
	Failed     int64          `json:"failed" doc:"Polls, since the start"`
	Late       Duration       `json:"late" doc:"How long after its time the scheduler last woke"`
	MostLate   Duration       `json:"most_late" doc:"The most of that since the start"`
	LastChange freshet.Place  `json:"last_change" doc:"End of the change log"`
	StoreBytes int64          `json:"store_bytes,omitempty" doc:"That the store takes on disk"`
	Disk       *Disk          `json:"disk,omitempty" doc:"The room where the store is; missing if it cannot be told"`
	Levels     *Levels        `json:"levels,omitempty" doc:"How things stand with the service levels, if there are any; worked out every minute"`
	Numbers    *StatusNumbers `json:"numbers,omitempty" doc:"How well all sources are captured, a few seconds ago; missing if nothing is learnt from polls"`
	Sinks      []Sink         `json:"sinks,omitempty"`
}

// Limits keep the polls of a source and of a host apart.
type Limits struct {
	SourceGap   Duration `json:"source_gap" doc:"Least time between two polls of one source that has no min_gap; 0s means none"`
	SourceShare float64  `json:"source_share" doc:"How much of the budget one source may take, or three times an even share if that is more; 1 means all"`
	HostDelay   Duration `json:"host_delay" doc:"Time between two polls of one host"`
	HostShare   float64  `json:"host_share" doc:"How much of the budget the sources of one host may take, or three times their even share if that is more; 1 means all"`
}

// A Disk is how much room there is where the store is.
type Disk struct {
	Free    int64 `json:"free_bytes" doc:"That this program can still use"`
	Size    int64 `json:"size_bytes"`
	Reserve int64 `json:"reserve_bytes" doc:"That are kept free: no polls begin when less is free"`
	Low     bool  `json:"low" doc:"No polls begin, because there is too little room"`

	Growth   *int64   `json:"growth_bytes_per_day,omitempty" doc:"By how much the store grows, measured over the last day; missing in the first minutes"`
	DaysLeft *float64 `json:"days_left,omitempty" doc:"Until the reserve is reached, if the store grows as it did; missing if it does not grow"`
}

// A Loading is how far the daemon is with the sources of its file.
type Loading struct {
	Done int `json:"done" doc:"Sources taken on so far"`
	Of   int `json:"of" doc:"Sources that the file lists"`
}

// A Sink is how far the deliveries of one webhook are.
type Sink struct {
	Name  string        `json:"name"`
	Place freshet.Place `json:"place" doc:"How far it has read the change log"`
	Open  int           `json:"open" doc:"Deliveries still owed"`
	Dead  int           `json:"dead" doc:"Deliveries given up"`
}

// Status returns how the program is doing.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	err = c.get(ctx, "/status", nil, &s)
	return s, err
}

// Reload has the daemon read its configuration file again. If anything is wrong
// with it, all stays as it was.
func (c *Client) Reload(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/reload", nil, nil, nil)
}
