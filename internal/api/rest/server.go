package rest

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
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

	// Status returns the HTTP status of an error that this package does not know; 0 means
	// that nobody knows it.
	Status func(error) int

	// Sure reports whether no other process can have written since; nil means that none can.
	Sure func() bool

	// Stop ends streams and long polls when it is closed.
	Stop <-chan struct{}

	// Hosts are the names under which the API is called, besides IP addresses and
	// localhost. "*" means any.
	Hosts []string

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
}

// maxBody is the largest request body.
const maxBody = 1 << 20

// NewServer returns a server without routes. About is what the API says of itself.
func NewServer(cfg Config, about huma.Config) *Server {
	s := &Server{
		Config: cfg, mux: http.NewServeMux(), answers: newAnswers(),
		operations: map[string]string{},
	}
	about.Components.SecuritySchemes = securitySchemes()
	about.Transformers = []huma.Transformer{tidyErrors}
	s.api = humago.New(s, about)
	describeTypes(s.api.OpenAPI().Components.Schemas)
	return s
}

// OpenAPI returns the description of the routes so far.
func (s *Server) OpenAPI() *huma.OpenAPI { return s.api.OpenAPI() }

// Handler returns the handler of all routes.
func (s *Server) Handler() http.Handler { return s.guard(s.patient(routed(s.mux))) }

// HandleFunc adds a route that is no operation of the described API. There is no way to
// add one that goes around the gate.
func (s *Server) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	s.mux.HandleFunc(pattern, s.gated(pattern, handler))
}

// ServeHTTP serves a route without the guards around all of them: humago needs it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// A Body is a request or a response that is one JSON value.
type Body[T any] struct{ Body T }

// Reply returns a response that is one JSON value.
func Reply[T any](v T) *Body[T] { return &Body[T]{v} }

// SchemaOf returns the schema of a type in the description of a server.
func SchemaOf[T any](s *Server) *huma.Schema {
	return s.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// Route adds an operation. An error that its handler returns is answered as a Problem, and
// logged if it is ours.
func Route[I, O any](s *Server, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	pattern := op.Method + " " + op.Path
	op.MaxBodyBytes = maxBody
	op.Description = cmp.Or(op.Description, s.Descriptions[op.OperationID])
	op.Security = securityOf(s.Rule(pattern))
	s.operations[pattern] = op.OperationID
	if writes(op.Method) && !s.Rule(pattern).Secret {
		most := maxKey
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: keyHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &most},
			Description: "A name for this request that its client makes up, such as a UUID. Sent again under the same name within 24 hours it is not done again: the answer is that of the first time. Another request under the name is refused with 422, and with 409 while the first is under way.",
			Example:     "8e03978e-40d5-43dd-bc93-6894a57f9324",
		})
	}
	problems := map[string]*huma.MediaType{"application/problem+json": {Schema: SchemaOf[Problem](s)}}
	responses := map[string]*huma.Response{
		"4XX":     {Description: "What is wrong with the request", Content: problems},
		"default": {Description: "What went wrong", Content: problems},
	}
	maps.Copy(responses, op.Responses)
	op.Responses = responses
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if err == nil {
			return out, nil
		}
		p := s.problemOf(err)
		if p.Status >= http.StatusInternalServerError && ctx.Err() == nil {
			s.Log.Error("request failed", "operation", op.OperationID, "err", err, "hint", p.Hint)
		}
		return nil, p
	})
}
