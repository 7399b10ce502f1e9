package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/auth"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sched"
)

func (a *api) routeStatus(h huma.API, mux gatedMux) {
	route(h, a, huma.Operation{
		OperationID: "get-status", Method: http.MethodGet, Path: "/api/v1/status", Tags: []string{"program"},
		Summary: "Show the status of the daemon",
	}, a.getStatus)
	route(h, a, huma.Operation{
		OperationID: "reload", Method: http.MethodPost, Path: "/api/v1/reload", Tags: []string{"program"},
		Summary: "Read the configuration file again", DefaultStatus: http.StatusNoContent,
	}, a.reload)
	route(h, a, huma.Operation{
		OperationID: "get-browser", Method: http.MethodGet, Path: "/api/v1/browser", Tags: []string{"program"},
		Summary: "Show the browser that pages are rendered with, or why they cannot be",
	}, a.getBrowser)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := a.ready(); err != nil {
			said := "not ready\n"
			if auth.Of(r.Context()).May(freshet.RightRead) {
				said = "not ready: " + err.Error() + "\n"
			}
			plain(w, http.StatusServiceUnavailable, said)
			return
		}
		said := "ready\n"
		if how := a.Daemon.Status().Clock; how != "" {
			said += "the clock was " + how + "\n"
		}
		plain(w, http.StatusOK, said)
	})
	mux.HandleFunc("GET /metrics", a.Metrics.handler(a).ServeHTTP)
}

// plain answers with a line of text. The client may be gone, and there is
// nobody else to tell.
func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// ready returns why nothing can be captured, if nothing can.
func (a *api) ready() error {
	st := a.Daemon.Status()
	switch {
	case a.Forward != nil && a.Ready != nil:
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

func (a *api) getBrowser(context.Context, *struct{}) (*bodyOf[client.Browser], error) {
	if a.Browser == nil {
		return &bodyOf[client.Browser]{client.Browser{Problem: "pages cannot be rendered here"}}, nil
	}
	return &bodyOf[client.Browser]{a.Browser()}, nil
}

func (a *api) getStatus(ctx context.Context, _ *struct{}) (*bodyOf[client.Status], error) {
	st := a.Daemon.Status()
	s := client.Status{
		Version: a.Version, StartedAt: a.started, Ready: true, Clock: st.Clock, Running: st.Running,
		Budget: st.Budget, Limits: limitsOf(st.Limits), Sources: st.Sources, UnderWay: st.UnderWay,
		Polls: st.Polls, Captured: st.Captured, Failed: st.Failed,
		Late: client.Duration(st.Late), MostLate: client.Duration(st.MostLate),
	}
	if err := a.ready(); err != nil {
		s.Ready, s.Trouble = false, err.Error()
	}
	if l := a.Daemon.Levels(); l.Set > 0 {
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
	return &bodyOf[client.Status]{s}, nil
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
func (a *api) storedStatus(ctx context.Context, s *client.Status) error {
	end, err := a.Store.LastChange(ctx)
	if err != nil {
		return fmt.Errorf("end of the change log: %w", err)
	}
	if s.LastChange, err = a.changePlace(ctx, end); err != nil {
		return err
	}
	if s.Behind, err = a.queriesBehind(ctx); err != nil {
		return err
	}
	if s.Sinks, err = a.sinks(ctx); err != nil || a.Size == nil {
		return err
	}
	if s.StoreBytes, err = a.Size(); err != nil {
		return fmt.Errorf("size of the store: %w", err)
	}
	return nil
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

func (a *api) reload(ctx context.Context, _ *struct{}) (*struct{}, error) {
	if a.Reload == nil {
		return nil, problem(http.StatusNotImplemented, "there is no configuration to reload")
	}
	if err := a.Reload(ctx); err != nil {
		p := problem(http.StatusUnprocessableEntity, err.Error())
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
