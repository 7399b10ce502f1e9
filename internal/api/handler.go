package api

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"freshet/client"
	"freshet/internal/auth"
	"freshet/internal/auth/openid"
	"freshet/internal/daemon"
	"freshet/internal/daemon/membudget"
	"freshet/internal/extract"
	fetchauth "freshet/internal/fetch/auth"
	"freshet/internal/freshet"
	"freshet/internal/queries/runner"
	"freshet/internal/sinks/delivery"
	"freshet/ui"
)

// Config says what a handler serves. Store, Daemon and Check are needed.
type Config struct {
	Store  freshet.Store
	Daemon *daemon.Daemon // it need not be running

	// Check judges the URL of a source and returns it in its normal form, or
	// a *freshet.InvalidError.
	Check func(rawURL string) (string, error)

	// Trust judges how a source that comes over the API is asked for: it must not
	// have secrets sent that are not meant for its host. Nil means that all may.
	Trust func(freshet.Source) error

	// Gate says who asks and what they may do. Nil means that whoever reaches the handler
	// may do everything, as if they had the data directory.
	Gate *auth.Gate

	// Provider is where people can log in besides; nil means nowhere.
	Provider *openid.Provider

	// Browser says with what pages are rendered, or why they cannot be. Nil means
	// that nobody knows.
	Browser func() client.Browser

	// Forward passes on what another node has to answer; nil means that this one decides.
	Forward Forward

	// Cluster is the machines that work together; nil means this one alone.
	Cluster *Cluster

	// Hooks are how others say that a source has changed; nil means that they cannot.
	Hooks *fetchauth.Hooks

	// WebSub are the subscriptions to feeds; nil means that there are none.
	WebSub *fetchauth.WebSub

	// Read reads a stored response again. Nil means that none is.
	Read func(context.Context, freshet.Recipe, freshet.Response) (extract.Reading, error)

	// Trace is Read, and tells what each step made of the response.
	Trace func(context.Context, freshet.Recipe, freshet.Response) (extract.Reading, error)

	// Queries are those that are run; nil means that none are, though they can be edited.
	Queries *runner.Runner

	// NoSearch says that what versions say is not indexed. Index brings the index up to
	// date before a search; nil means that somebody does so all the time.
	NoSearch bool
	Index    func(context.Context) error

	// Reload reads the configuration again; nil means that there is none.
	Reload func(context.Context) error

	// Settings tells what can be set while the daemon runs, and SetSettings changes it. Nil
	// means that nothing can.
	Settings    func() client.Settings
	SetSettings func(context.Context, client.SettingsEdit) (client.Settings, Bounds, error)

	// Sure reports whether no other process can have written since; nil means that none can.
	Sure func() bool

	// Ready says why the program is not ready although the daemon is, if it
	// is not. Nil means that there is nothing else to wait for.
	Ready func() error

	// Size returns how many bytes the store takes; nil means unknown.
	Size func() (int64, error)

	// Stop ends streams and long polls when it is closed. A server that shuts
	// down waits for them.
	Stop <-chan struct{}

	// Hosts are the names under which the API is called, besides IP addresses
	// and localhost. Under another name a request is refused, because a page
	// of any site can have its name resolve to this machine. "*" means any.
	Hosts []string

	Base    string          // of the URLs in events, such as "https://freshet.example"
	Sinks   *delivery.Sinks // that are told of changes; nil means none
	Version string
	Now     func() time.Time // the wall clock; nil means time.Now
	Metrics *Metrics         // nil means new ones
	Log     *slog.Logger     // nil means silence
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Gate == nil {
		c.Gate = auth.Inside(c.Store, c.Now)
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics()
	}
	return c
}

// api serves the routes of one Config.
type api struct {
	Config
	started time.Time
	events  fanout
	busy    busyLoop
	byNext  atomic.Pointer[nextOrder] // the last
	flow    flow
	bulks   bulks
	lab     labRuns
	answers *membudget.Budget // for bodies and diffs on their way to clients
	edits   sync.RWMutex      // held by edits, and alone by a removal on a condition

	operations map[string]string // by pattern
}

// maxBody is the largest request body.
const maxBody = 1 << 20

// New returns the handler of everything that Freshet serves over HTTP.
func New(cfg Config) http.Handler {
	a := &api{Config: cfg.withDefaults(), answers: newAnswers(), operations: map[string]string{}}
	a.started = a.Now().UTC()
	a.lab.now, a.lab.work = a.Now, a.labWork
	mux := gatedMux{http.NewServeMux(), a}
	h := humago.New(mux, a.describe())
	describeTypes(h.OpenAPI().Components.Schemas)
	a.routeSources(h)
	a.routeFacets(h)
	a.routeBulk(h)
	a.routeImport(h)
	a.routeTrial(h)
	a.routeSites(h)
	a.routePolls(h)
	a.routeHooks(h)
	a.routeWebSub(mux)
	a.routeVersions(h)
	a.routeOutcomes(h)
	a.routeChanges(h)
	a.routeSearch(h)
	a.routeNewest(h)
	a.routeSinks(h)
	a.routeFeeds(h)
	a.routeQueries(h)
	a.routeBudget(h)
	a.routeWhy(h)
	a.routeRhythm(h)
	a.routeTaught(h)
	a.routeChances(h)
	a.routeNumbers(h)
	a.routeStatus(h, mux)
	a.routeSettings(h)
	a.routeCluster(h)
	a.routeLab(h)
	a.routeOverview(h)
	a.routeFlow(h)
	a.routeSession(h)
	a.routeProvider(mux)
	a.routeUsers(h)
	a.routePasses(h)
	a.routeAudit(h)
	finishDescription(h.OpenAPI())
	ui.New(a.reader).Route(mux)
	return a.guard(a.patient(routed(mux.ServeMux)))
}

// route registers an operation. Whatever error its handler returns is told as
// a Problem, and those that are our fault are logged.
func route[I, O any](h huma.API, a *api, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	op.MaxBodyBytes = maxBody
	op.Description = cmp.Or(op.Description, descriptions[op.OperationID])
	op.Security = securityOf(op.Method + " " + op.Path)
	a.operations[op.Method+" "+op.Path] = op.OperationID
	if writes(op.Method) && !ruleOf(op.Method+" "+op.Path).secret {
		most := maxKey
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: keyHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &most},
			Description: "A name for this request that its client makes up, such as a UUID. Sent again under the same name within 24 hours it is not done again: the answer is that of the first time. Another request under the name is refused with 422, and with 409 while the first is under way.",
			Example:     "8e03978e-40d5-43dd-bc93-6894a57f9324",
		})
	}
	problems := map[string]*huma.MediaType{"application/problem+json": {
		Schema: h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, ""),
	}}
	responses := map[string]*huma.Response{
		"4XX":     {Description: "What is wrong with the request", Content: problems},
		"default": {Description: "What went wrong", Content: problems},
	}
	maps.Copy(responses, op.Responses)
	op.Responses = responses
	huma.Register(h, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if err == nil {
			return out, nil
		}
		p := problemOf(err)
		if p.Status >= http.StatusInternalServerError && ctx.Err() == nil {
			a.Log.Error("request failed", "operation", op.OperationID, "err", err, "hint", p.Hint)
		}
		return nil, p
	})
}
