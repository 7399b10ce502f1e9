package client

import (
	"context"
	"net/http"
	"time"

	"freshet/internal/freshet"
)

// A Status is how the program is doing, as the API tells it.
type Status struct {
	Version    string         `json:"version"`
	StartedAt  time.Time      `json:"started_at"`
	Ready      bool           `json:"ready" doc:"Polls are made and can be stored"`
	Trouble    string         `json:"trouble,omitempty" doc:"Why the daemon is not ready, if it is not"`
	Clock      string         `json:"clock,omitempty" doc:"How the system clock was last set, if it was since the start"`
	Running    bool           `json:"running" doc:"Polls are made"`
	Budget     string         `json:"budget"`
	Limits     Limits         `json:"limits" doc:"Polling limits, besides the budget"`
	Sources    int64          `json:"sources"`
	Loading    *Loading       `json:"loading,omitempty" doc:"Progress of loading the sources of the configuration file, while it lasts"`
	UnderWay   int64          `json:"under_way" doc:"Polls running now"`
	Polls      int64          `json:"polls" doc:"Polls since the start"`
	Captured   int64          `json:"captured" doc:"Versions captured since the start"`
	Failed     int64          `json:"failed" doc:"Failed polls since the start"`
	Late       Duration       `json:"late" doc:"How late the scheduler last woke, or how long polls have been waiting to be recorded if that is more"`
	MostLate   Duration       `json:"most_late" doc:"The most of that since the start"`
	LastChange freshet.Place  `json:"last_change" doc:"End of the change log"`
	StoreBytes int64          `json:"store_bytes,omitempty" doc:"Size of the data on disk"`
	Disk       *Disk          `json:"disk,omitempty" doc:"Disk space; missing if it is not known"`
	Levels     *Levels        `json:"levels,omitempty" doc:"State of the service levels, if there are any; updated every minute"`
	Numbers    *StatusNumbers `json:"numbers,omitempty" doc:"How well all sources are captured, as of a few seconds ago; missing if the policy does not learn"`
	Sinks      []Sink         `json:"sinks,omitempty"`
	Behind     bool           `json:"queries_behind,omitempty" doc:"Queries have not gone through everything that is stored"`
}

// A Browser is what pages are rendered with.
type Browser struct {
	Path    string `json:"path,omitempty" doc:"Path of the browser"`
	Version string `json:"version,omitempty"`
	Problem string `json:"problem,omitempty" doc:"Why pages cannot be rendered, if they cannot"`
	Hint    string `json:"hint,omitempty" doc:"What to do about it"`
}

// Browser returns what pages are rendered with.
func (c *Client) Browser(ctx context.Context) (Browser, error) {
	return get[Browser](ctx, c, "/browser", nil)
}

// Limits keep the polls of a source and of a host apart.
type Limits struct {
	SourceGap   Duration `json:"source_gap" doc:"Least time between two polls of one source that has no min_gap; 0s means none"`
	SourceShare float64  `json:"source_share" doc:"Most of the budget that one source may use, or three times an equal share if that is more; 1 means all"`
	HostDelay   Duration `json:"host_delay" doc:"Least time between two polls of one host"`
	CrawlDelay  Duration `json:"crawl_delay" doc:"Longest pause between requests that the robots.txt of a host can ask for; 0s means that it is not read for that"`
	Robots      string   `json:"robots" enum:"obey,ignore" doc:"Whether sources that do not say are polled only if robots.txt files allow it"`
	HostShare   float64  `json:"host_share" doc:"Most of the budget that the sources of one host may use, or three times their equal share if that is more; 1 means all"`
	Hints       Duration `json:"hints" doc:"Longest time that a server's max-age or a feed's ttl can delay a poll; 0s means they are ignored"`
}

// A Disk is how much room there is where the store is.
type Disk struct {
	Free    int64 `json:"free_bytes" doc:"Free bytes that Freshet can use"`
	Size    int64 `json:"size_bytes"`
	Reserve int64 `json:"reserve_bytes" doc:"Bytes to leave free; polling stops when less is free"`
	Low     bool  `json:"low" doc:"Polling has stopped because there is too little free space"`

	Growth   *int64   `json:"growth_bytes_per_day,omitempty" doc:"Growth of the data, measured over the last day; missing in the first minutes"`
	DaysLeft *float64 `json:"days_left,omitempty" doc:"Days until the reserve is reached at the present growth; missing if the data does not grow"`
}

// A Loading is how far the daemon is with the sources of its file.
type Loading struct {
	Done int `json:"done" doc:"Sources loaded so far"`
	Of   int `json:"of" doc:"Sources in the file"`
}

// Status returns how the program is doing.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/status", nil)
}

// Reload has the daemon read its configuration file again. If anything is wrong
// with it, all stays as it was.
func (c *Client) Reload(ctx context.Context) error {
	return c.Call(ctx, http.MethodPost, "/reload", nil, nil, nil)
}
