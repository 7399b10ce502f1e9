package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// A Cluster is the machines that work together: one leader, and any number of standbys and workers.
type Cluster struct {
	Brain ClusterLeader `json:"brain" doc:"The daemon that decides what is polled"`
	Nodes []ClusterNode `json:"nodes" doc:"All daemons on the same data, by address"`
	Hands []Worker      `json:"hands" doc:"Workers on other machines, by name"`
}

// A ClusterLeader is the daemon that decides.
type ClusterLeader struct {
	Address string `json:"address" doc:"Address of its API; empty while there is no leader"`
	Epoch   int64  `json:"epoch" doc:"How many brains there have been before, and this one"`
	Slots   int    `json:"slots" doc:"Most polls at the same time, over all workers"`

	Notes *Checkpoint `json:"notes,omitempty" doc:"The last checkpoint; missing if there was none since the leader started"`
}

// A Checkpoint is what was learnt, as it was last saved so that a start need not replay the whole log.
type Checkpoint struct {
	By      string    `json:"by" doc:"Address of the node that saved them: the brain"`
	At      time.Time `json:"at"`
	Upto    int64     `json:"upto" doc:"The last result of a poll that they rest on"`
	Sources int       `json:"sources" doc:"Sources that they are about"`
}

// A ClusterNode is a daemon: it decides, or it stands by to take over.
type ClusterNode struct {
	Address string    `json:"address" doc:"Address of its API"`
	Role    string    `json:"role" enum:"brain,standby,lost" doc:"Whether it decides. A node is lost if it has given no sign of life for some leases; it is forgotten after ten minutes"`
	Standby string    `json:"standby,omitempty" enum:"warm,warming,cold,unable" doc:"Of a standby: warm if it could take over at once, warming if it is reading what it needs for that, cold if it would read everything first, unable if it cannot take over"`
	Why     string    `json:"why,omitempty" doc:"What is wrong with a node: why the leader captures nothing, or why a standby is not warm, or could neither take over nor send to all sinks"`
	Hint    string    `json:"hint,omitempty" doc:"What to do about it"`
	Version string    `json:"version,omitempty"`
	Sinks   int       `json:"sinks,omitempty" doc:"Sinks that it delivers to, if there are several nodes"`
	Sending int       `json:"sending,omitempty" doc:"Deliveries that it is making, if there are several nodes"`
	Lag     int64     `json:"lag" doc:"How many results of polls it has not taken in yet"`
	Seen    Duration  `json:"seen" doc:"How long ago it gave a sign of life"`
	Started time.Time `json:"started"`
}

// A Worker makes polls for the leader on another machine.
type Worker struct {
	Name     string    `json:"name"`
	Address  string    `json:"address" doc:"Address that it connected from"`
	Place    string    `json:"place" doc:"Where it says it is; empty if it does not say"`
	Slots    int       `json:"slots" doc:"Most polls at the same time"`
	Busy     int       `json:"busy" doc:"Polls that it is making"`
	Renders  bool      `json:"renders,omitempty" doc:"It can show pages in a browser"`
	Draining bool      `json:"draining,omitempty" doc:"It is given no more polls"`
	Trusted  bool      `json:"trusted,omitempty" doc:"It is given URLs with secrets: see the setting hands.trusted"`
	Since    time.Time `json:"since" doc:"When it joined"`
}

// Cluster returns the machines that work together.
func (c *Client) Cluster(ctx context.Context) (Cluster, error) {
	return get[Cluster](ctx, c, "/cluster", nil)
}

// DrainWorker lets a worker finish its polls and gives it no more.
func (c *Client) DrainWorker(ctx context.Context, name string) error {
	return c.Call(ctx, http.MethodPost, "/cluster/hands/"+url.PathEscape(name)+"/drain", nil, nil, nil)
}
