package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sched"
	"freshet/internal/sinks/delivery"
)

// A statusStore is what is stored of sources and of the logs.
type statusStore interface {
	freshet.Catalog
	freshet.ChangeLog
	freshet.OutcomeLog
	CountOutcomes(ctx context.Context, after freshet.Cursor, since time.Time, length time.Duration) ([]freshet.OutcomeCount, freshet.Cursor, error)
}

// statusAPI serves the state of the program.
type statusAPI struct {
	*rest.Server
	ProgramConfig
	store      statusStore
	daemon     *daemon.Daemon
	sinks      *delivery.Sinks // nil means none
	queries    *queries.Runner // nil means that none are run
	members    *Cluster        // nil means this machine alone
	holdsLease func() bool     // this node certainly is the leader; nil means always
	follower   bool            // another node decides
	started    time.Time
	flow       flow
}

func (a *statusAPI) routes() {
	a.routeStatus()
	a.routeCluster()
	a.routeOverview()
	a.routeFlow()
}

func (a *statusAPI) routeStatus() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-status", Method: http.MethodGet, Path: "/api/v1/status", Tags: []string{"program"},
		Summary: "Show the status of the daemon",
	}, a.getStatus)
	rest.Route(a.Server, huma.Operation{
		OperationID: "reload", Method: http.MethodPost, Path: "/api/v1/reload", Tags: []string{"program"},
		Summary: "Read the configuration file again", DefaultStatus: http.StatusNoContent,
	}, a.reload)
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-browser", Method: http.MethodGet, Path: "/api/v1/browser", Tags: []string{"program"},
		Summary: "Show the browser for rendering, or why there is none",
	}, a.getBrowser)
	a.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok\n") })
	a.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := a.ready(); err != nil {
			said := "not ready\n"
			if auth.Of(r.Context()).May(access.Read) {
				said = "not ready: " + err.Error() + "\n"
			}
			plain(w, http.StatusServiceUnavailable, said)
			return
		}
		said := "ready\n"
		if how := a.daemon.Status().Clock; how != "" {
			said += "the clock was " + how + "\n"
		}
		plain(w, http.StatusOK, said)
	})
}

// plain answers with a line of text. The client may be gone, and there is
// nobody else to tell.
func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// ready returns why nothing can be captured, if nothing can.
func (a *statusAPI) ready() error {
	st := a.daemon.Status()
	switch {
	case a.follower && a.Ready != nil:
		return a.Ready()
	case !st.Running && st.Listed > 0:
		return fmt.Errorf("polling has not started: loading sources: %d of %d", st.Loaded, st.Listed)
	case !st.Running:
		return errors.New("polling is not running")
	case st.Trouble != "":
		return errors.New(st.Trouble)
	case a.Ready != nil:
		return a.Ready()
	}
	return nil
}

func (a *statusAPI) getBrowser(context.Context, *struct{}) (*rest.Body[client.Browser], error) {
	if a.Browser == nil {
		return rest.Reply(client.Browser{Problem: "pages cannot be rendered here"}), nil
	}
	return rest.Reply(a.Browser()), nil
}

func (a *statusAPI) getStatus(ctx context.Context, _ *struct{}) (*rest.Body[client.Status], error) {
	st := a.daemon.Status()
	s := client.Status{
		Version: a.Version, StartedAt: a.started, Ready: true, Clock: st.Clock, Running: st.Running,
		Budget: st.Budget, Limits: limitsOf(st.Limits), Sources: st.Sources, UnderWay: st.UnderWay,
		Polls: st.Polls, Captured: st.Captured, Failed: st.Failed,
		Late: client.Duration(st.Late), MostLate: client.Duration(st.MostLate),
	}
	if err := a.ready(); err != nil {
		s.Ready, s.Trouble = false, err.Error()
	}
	if l := a.daemon.Levels(); l.Set > 0 {
		s.Levels = &client.Levels{Set: l.Set, Unmet: l.Unmet, NeedPerDay: perDay(l.Need), BudgetPerDay: perDay(l.Budget)}
	}
	s.Disk = diskOf(st.Disk)
	if st.Listed > 0 {
		s.Loading = &client.Loading{Done: st.Loaded, Of: st.Listed}
	}
	s.Numbers = a.statusNumbers(ctx)
	if err := without(&s, a.storedStatus(ctx, &s)); err != nil {
		return nil, err
	}
	return rest.Reply(s), nil
}

// without has a status tell that the store cannot be read: what is known without it is wanted most while it is
// away. Other errors it returns.
func without(s *client.Status, err error) error {
	if !errors.Is(err, freshet.ErrStorage) {
		return err
	}
	if s.Ready {
		s.Ready, s.Trouble = false, err.Error()
	}
	return nil
}

// storedStatus adds what only the store knows.
func (a *statusAPI) storedStatus(ctx context.Context, s *client.Status) error {
	end, err := a.store.LastChange(ctx)
	if err != nil {
		return fmt.Errorf("end of the change log: %w", err)
	}
	if s.LastChange, err = rest.ChangePlace(ctx, a.store, end); err != nil {
		return err
	}
	if s.Behind, err = queriesBehind(ctx, a.queries, a.store); err != nil {
		return err
	}
	if s.Sinks, err = sinkStates(ctx, a.sinks); err != nil || a.Size == nil {
		return err
	}
	if s.StoreBytes, err = a.Size(); err != nil {
		return fmt.Errorf("size of the store: %w", err)
	}
	return nil
}

// queriesBehind reports whether the queries have not gone through all that is stored.
func queriesBehind(ctx context.Context, queries *queries.Runner, store statusStore) (bool, error) {
	if queries == nil {
		return false, nil
	}
	changes, err := store.LastChange(ctx)
	if err != nil {
		return false, fmt.Errorf("end of the change log: %w", err)
	}
	outcomes, err := store.LastOutcome(ctx)
	if err != nil {
		return false, fmt.Errorf("end of the log of outcomes: %w", err)
	}
	uptoChanges, uptoOutcomes := queries.Upto()
	return uptoChanges < changes || uptoOutcomes < outcomes, nil
}

// statusNumbers returns the numbers in short; nil if there are none.
func (a *statusAPI) statusNumbers(ctx context.Context) *client.StatusNumbers {
	ctx, cancel := context.WithTimeout(ctx, loopPatience)
	defer cancel()
	n, err := a.daemon.Overall(ctx)
	if err != nil {
		return nil // nothing is learnt, or nobody is at work, or the loop is too busy
	}
	all := capturedOf(n.All)
	return &client.StatusNumbers{
		Share: all.Share, Delay: all.Delay, Freshness: all.Freshness, Age: all.Age,
		Price: n.Price, CalibrationGap: n.Reliability.Gap(),
	}
}

// limitsOf returns what keeps polls apart as the API tells it.
func limitsOf(l sched.Limits) client.Limits {
	all := func(share float64) float64 { return cmp.Or(share, 1) }
	return client.Limits{
		SourceGap: client.Duration(l.SourceGap), SourceShare: all(l.SourceShare),
		HostDelay: client.Duration(l.Hosts.Delay), HostShare: all(l.Hosts.Share),
		CrawlDelay: client.Duration(l.Hosts.CrawlDelay), Robots: robotsOf(l.Hosts), Hints: client.Duration(l.Hints),
	}
}

// diskOf returns the room on the disk as the API tells it.
func diskOf(d *daemon.Disk) *client.Disk {
	if d == nil {
		return nil
	}
	told := &client.Disk{Free: d.Free, Size: d.Size, Reserve: d.Reserve, Low: d.Low}
	if d.Growth != 0 {
		told.Growth = &d.Growth
	}
	if days, ok := d.DaysLeft(); ok {
		days = math.Round(days*10) / 10
		told.DaysLeft = &days
	}
	return told
}

func (a *statusAPI) reload(ctx context.Context, _ *struct{}) (*struct{}, error) {
	if a.Reload == nil {
		return nil, rest.NewProblem(http.StatusNotImplemented, "there is no configuration file to reload")
	}
	if err := a.Reload(ctx); err != nil {
		p := rest.NewProblem(http.StatusUnprocessableEntity, err.Error())
		p.Hint = freshet.HintOf(err)
		return nil, p
	}
	return nil, nil
}

// robotsOf returns whether robots.txt files are obeyed by sources that do not say.
func robotsOf(p sched.Politeness) string {
	if p.Obey {
		return string(freshet.RobotsObey)
	}
	return string(freshet.RobotsIgnore)
}

// A Cluster is the nodes and workers that work together.
type Cluster struct {
	Address string // of this node
	Show    func(context.Context) (client.Cluster, error)
	Drain   func(name string) error // returns freshet.ErrNotFound if there is no such hand
}

func (a *statusAPI) routeCluster() {
	tags := []string{"program"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-cluster", Method: http.MethodGet, Path: "/api/v1/cluster", Tags: tags,
		Summary:     "Show the leader, the standby nodes and the workers of a cluster",
		Description: "The leader decides what is polled, standby nodes can take over, and workers poll.",
	}, a.getCluster)
	rest.Route(a.Server, huma.Operation{
		OperationID: "drain-hand", Method: http.MethodPost, Path: "/api/v1/cluster/hands/{name}/drain", Tags: tags,
		Summary:     "Stop a worker when its running polls have finished",
		Description: "The process ends by itself; polls that have not begun go to other workers.", DefaultStatus: http.StatusAccepted,
	}, a.drainHand)
}

func (a *statusAPI) getCluster(ctx context.Context, _ *struct{}) (*rest.Body[client.Cluster], error) {
	if a.members == nil {
		return rest.Reply(client.Cluster{Nodes: []client.ClusterNode{}, Hands: []client.Worker{}}), nil
	}
	all, err := a.members.Show(ctx)
	return rest.Reply(all), err
}

type handPath struct {
	Name string `path:"name" maxLength:"100" doc:"Name of the worker"`
}

func (a *statusAPI) drainHand(_ context.Context, in *handPath) (*struct{}, error) {
	err := freshet.ErrNotFound
	if a.members != nil {
		err = a.members.Drain(in.Name)
	}
	if errors.Is(err, freshet.ErrNotFound) {
		return nil, rest.NewProblem(http.StatusNotFound, "there is no worker "+in.Name)
	}
	return nil, err
}

// clusterGauges reports of the machines that work together.
func (a *statusAPI) clusterGauges(ctx context.Context, set setGauge) {
	if a.members == nil {
		return
	}
	brain, warm, lag, nodes := 0.0, 0.0, int64(0), 0
	if !a.follower {
		warm = 1
	}
	if !a.follower && (a.holdsLease == nil || a.holdsLease()) {
		brain = 1
	}
	set(gauge("freshet_cluster_brain", "1 if this node decides, 0 if it stands by or its lease has run out."), brain)
	all, err := a.members.Show(ctx)
	if err != nil {
		a.Log.Error("cannot collect metrics", "err", err)
		return
	}
	for _, n := range all.Nodes {
		if n.Role != "lost" {
			nodes++
		}
		if n.Address == a.members.Address && n.Role != "lost" { // one that was there before may have had the same
			lag = n.Lag
			if n.Standby == "warm" {
				warm = 1
			}
		}
	}
	set(gauge("freshet_cluster_epoch", "How many nodes have decided one after the other."), float64(all.Brain.Epoch))
	set(gauge("freshet_cluster_nodes", "Nodes on the same data that give signs of life."), float64(nodes))
	set(gauge("freshet_cluster_lag", "Results of polls that this node has not taken in yet."), float64(lag))
	set(gauge("freshet_cluster_warm", "1 if this node decides or could take over at once, 0 if it would have to read everything first."), warm)
	set(gauge("freshet_cluster_hands", "Hands on other machines."), float64(len(all.Hands)))
	set(gauge("freshet_cluster_slots", "Most polls at the same time, over all workers."), float64(all.Brain.Slots))
}
