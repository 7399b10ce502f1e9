package rest

import (
	"log/slog"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"freshet/internal/auth"
	"freshet/internal/daemon/membudget"
	"freshet/internal/freshet"
)

// A Config says how a Server treats requests. All fields but Forward, Status, Sure, Stop
// and Descriptions are required.
type Config struct {
	Gate    *auth.Gate
	Sources freshet.Catalog // whose tags limit tokens

	Rule         func(pattern string) Rule // of a route
	Descriptions map[string]string         // of operations that have none of their own, by ID

	// Forward passes a request on if another node has to answer it, and reports whether it
	// did. answer answers it here. Nil means that this node answers everything.
	Forward func(w http.ResponseWriter, r *http.Request, pattern string, c auth.Caller, answer http.HandlerFunc) bool

	// Status returns the HTTP status of an error that this package does not know; 0 means that it
	// does not know it either.
	Status func(error) int

	// Sure reports whether no other process can have written since; nil means that none can.
	Sure func() bool

	// Stop ends streams and long polls when it is closed.
	Stop <-chan struct{}

	// Hosts are the names under which the API is called, besides IP addresses and
	// localhost. "*" means any.
	Hosts []string

	// Missing answers a browser that asks for a page that is not there; nil means with a problem.
	Missing http.HandlerFunc

	Now func() time.Time // the wall clock
	Log *slog.Logger
}

// A Server serves routes, each to the callers that its rule lets through. Handlers embed
// it.
type Server struct {
	Config

	// Edits is held for reading by edits, and alone by a change on a condition: no edit
	// comes between the look and the change.
	Edits sync.RWMutex

	api        huma.API
	mux        *http.ServeMux
	answers    *membudget.Budget // for bodies and diffs on their way to clients
	operations map[string]string // by pattern
	success    map[string]int    // status of a successful response by pattern
	underWay   sync.Map          // keys of running requests
}

// NewServer returns a server without routes. About is what the API says of itself.
func NewServer(cfg Config, about huma.Config) *Server {
	s := &Server{
		Config: cfg, mux: http.NewServeMux(), answers: newAnswers(),
		operations: map[string]string{}, success: map[string]int{},
	}
	about.Components.SecuritySchemes = securitySchemes()
	s.api = humago.New(s, about)
	describeTypes(s.api.OpenAPI().Components.Schemas)
	return s
}

// OpenAPI returns the description of the routes so far.
func (s *Server) OpenAPI() *huma.OpenAPI { return s.api.OpenAPI() }

// Handler returns the handler of all routes.
func (s *Server) Handler() http.Handler { return s.guard(s.patient(s.routed())) }

// HandleFunc adds a route that is no operation of the described API. There is no way to
// add one that goes around the gate.
func (s *Server) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	s.mux.HandleFunc(pattern, s.gated(pattern, handler))
}

// ServeHTTP serves a route without the guards around all of them: humago needs it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// SchemaOf returns the schema of a type in the description of a server.
func SchemaOf[T any](s *Server) *huma.Schema {
	return s.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}
