package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"freshet/internal/api"
	"freshet/internal/auth"
	"freshet/internal/cluster/identity"
	"freshet/internal/fetch"
	"freshet/internal/store/postgres"
)

// forwardedHeader says that a request was forwarded, and is not to be again.
const forwardedHeader = "Freshet-Passed"

// What a node answers, in [identity.Header], to another whose request it has not looked at.
const (
	saysUnknown   = "unknown"   // it does not know the other
	saysElsewhere = "elsewhere" // it does not lead, or not in that epoch
	saysRefused   = "refused"   // the signature is not good, or was used before
)

// The largest body that a node forwards, and the largest of a client without a credential.
const (
	mostForwarded  = 17 << 20 // more than any route takes
	mostOfStranger = 1 << 20
)

// forwardTimeout is how long the leader may take to begin an answer.
const forwardTimeout = 2 * time.Minute

// A forwarder forwards requests to the leader.
type forwarder struct {
	signer *identity.Signer
	leader atomic.Pointer[leader]
	proxy  *httputil.ReverseProxy
	log    *slog.Logger
}

// A leader is the leader, for as long as it does.
type leader struct {
	postgres.Lease
	at  *url.URL
	ctx context.Context // of the requests that are forwarded to it
	end context.CancelCauseFunc
}

var errMoved = errors.New("another node leads now")

func newForwarder(signer *identity.Signer, trust identity.Trust, log *slog.Logger) *forwarder {
	p := &forwarder{signer: signer, log: log}
	p.proxy = &httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: fetch.TrustedBy(forwardTimeout, trust).Transport, FlushInterval: -1,
		ErrorHandler: p.failed, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ModifyResponse: checkAnswer,
	}
	return p
}

// errUnknownNode says that the leader has not heard of this one, or not for a while. It
// has then done nothing.
var errUnknownNode = errors.New("the leader does not know this one")

// errElsewhere says that the node does not lead any more, or not yet. It has then done nothing.
var errElsewhere = errors.New("the node is not the leader")

// errRefused says that the leader has refused a signature: a request was altered on its way, or arrived twice.
var errRefused = errors.New("the leader has refused the signature of this node")

// checkAnswer checks the answer of the leader.
func checkAnswer(r *http.Response) error {
	r.Header.Del(instanceHeader)
	switch r.Header.Get(identity.Header) {
	case saysUnknown:
		return errUnknownNode
	case saysElsewhere:
		return errElsewhere
	case saysRefused:
		return errRefused
	}
	return nil
}

// follow records the current leader and cancels requests to a former one.
func (p *forwarder) follow(l postgres.Lease) {
	was := p.leader.Load()
	if was != nil && was.Term == l.Term && was.Address == l.Address && l.Held() {
		return
	}
	var now *leader
	if at, err := url.Parse(l.Address); err == nil && l.Held() && at.Host != "" {
		now = &leader{Lease: l, at: at}
		now.ctx, now.end = context.WithCancelCause(context.Background())
	}
	if p.leader.Store(now); was != nil {
		was.end(errMoved)
	}
}

// A forwarding is one forwarded request.
type forwarding struct {
	to      *leader
	caller  *auth.Caller // nil if nobody has looked who it is
	instead http.HandlerFunc
	header  http.Header // that is put back for instead
	body    []byte
}

type forwardingKey struct{}

// forward forwards a request of a caller who was authenticated here. It implements [api.Forward].
func (p *forwarder) forward(w http.ResponseWriter, r *http.Request, c auth.Caller, instead http.HandlerFunc) {
	p.send(w, r, &forwarding{caller: &c, instead: instead})
}

func (p *forwarder) send(w http.ResponseWriter, r *http.Request, way *forwarding) {
	way.to = p.leader.Load()
	if way.to == nil || r.Header.Get(forwardedHeader) != "" { // it does not go round
		p.without(w, r, way)
		return
	}
	if !way.read(w, r) {
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(way.to.ctx, func() { cancel(errMoved) })()
	way.header = w.Header().Clone()
	for name := range way.header { // the other node says these
		if name != http.CanonicalHeaderKey(instanceHeader) {
			w.Header().Del(name)
		}
	}
	p.proxy.ServeHTTP(w, r.WithContext(context.WithValue(ctx, forwardingKey{}, way)))
}

// read reads the body, which is signed, and answers if it cannot.
func (way *forwarding) read(w http.ResponseWriter, r *http.Request) bool {
	limit := int64(mostForwarded)
	if way.caller == nil || !way.caller.Known {
		limit = mostOfStranger
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		api.NoBrain(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("request body is too large limit=%d bytes", limit), "")
		return false
	}
	if err != nil { // the client is gone
		return false
	}
	way.body = body
	return true
}

// without answers a request without the leader.
func (p *forwarder) without(w http.ResponseWriter, r *http.Request, way *forwarding) {
	if way.instead != nil {
		maps.Copy(w.Header(), way.header)
		way.instead(w, r)
		return
	}
	api.NoBrain(w, http.StatusServiceUnavailable, "no node leads at the moment: another one is about to take over", "try again in a few seconds; reads are answered meanwhile")
}

// rewrite says where a request goes, and whose it is.
func (p *forwarder) rewrite(r *httputil.ProxyRequest) {
	way := r.In.Context().Value(forwardingKey{}).(*forwarding)
	r.SetURL(way.to.at)
	r.Out.Host = way.to.at.Host
	h := r.Out.Header
	h.Set(forwardedHeader, "1")
	h.Del(identity.Header)
	h.Del(identity.CallerHeader)
	r.Out.Body, r.Out.ContentLength = http.NoBody, 0
	if len(way.body) > 0 {
		r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(way.body)), int64(len(way.body))
	}
	r.Out.TransferEncoding = nil
	if way.caller == nil {
		r.SetXForwarded()
		return
	}
	for _, name := range []string{"Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "X-Real-Ip", "Via"} { // judged here
		h.Del(name)
	}
	h.Set("X-Forwarded-For", way.caller.From)
	h.Set("X-Forwarded-Proto", "http")
	if way.caller.Secure {
		h.Set("X-Forwarded-Proto", "https")
	}
	if way.caller.Everybody() { // who shows what only this node knows, or nothing
		h.Del("Authorization")
		h.Set(identity.CallerHeader, way.caller.Via)
	}
	p.signer.Sign(r.Out, way.to.Address, way.to.Term, way.body)
}

// failed says that a request was not answered.
func (p *forwarder) failed(w http.ResponseWriter, r *http.Request, err error) {
	way := r.Context().Value(forwardingKey{}).(*forwarding)
	if way.instead != nil {
		p.without(w, r, way)
		return
	}
	p.log.Info("a request could not be forwarded", "to", way.to.Address, "path", r.URL.Path, "err", err)
	if errors.Is(err, errUnknownNode) {
		api.NoBrain(w, http.StatusServiceUnavailable, err.Error()+" yet: it has just started, or could not reach the database for a while", "try again in a few seconds; reads are answered meanwhile")
		return
	}
	if errors.Is(err, errElsewhere) {
		api.NoBrain(w, http.StatusServiceUnavailable, "another node is about to lead", "try again in a few seconds; reads are answered meanwhile")
		return
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		api.NoBrain(w, http.StatusServiceUnavailable, "the leader cannot be reached; if it is gone, another one takes over", "try again in a few seconds; reads are answered meanwhile")
		return
	}
	detail := "the leader did not answer"
	if slices.Contains([]string{http.MethodGet, http.MethodHead}, r.Method) {
		api.NoBrain(w, http.StatusServiceUnavailable, detail, "try again in a few seconds")
		return
	}
	api.NoBrain(w, http.StatusBadGateway, detail+"; it is not known whether this was done", "look, or try again with the same Idempotency-Key: it is then done once")
}

// fromNodes takes requests of other nodes as those of their clients, if they really come from another node and are
// for the leader of the epoch, which this one is. Without a verifier it is none, and takes none.
func fromNodes(verifier *identity.Verifier, epoch int64, h http.Handler) http.Handler {
	refuse := func(w http.ResponseWriter, why string) {
		w.Header().Set(identity.Header, why)
		http.Error(w, "this request of a node is not for this one: "+why, http.StatusForbidden)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(identity.Header) == "" {
			h.ServeHTTP(w, r)
			return
		}
		if verifier == nil {
			refuse(w, saysElsewhere)
			return
		}
		signed, body, err := verifier.Verify(r, mostForwarded)
		switch {
		case errors.Is(err, identity.ErrUnknownNode):
			refuse(w, saysUnknown)
		case errors.Is(err, identity.ErrForged), errors.Is(err, identity.ErrReplayed):
			refuse(w, saysRefused)
		case err != nil:
			api.NoBrain(w, http.StatusServiceUnavailable, "the database cannot be read", "try again in a moment")
		case signed != epoch:
			refuse(w, saysElsewhere)
		default:
			p := auth.Passing{From: r.Header.Get("X-Forwarded-For"), Secure: r.Header.Get("X-Forwarded-Proto") == "https", Via: r.Header.Get(identity.CallerHeader)}
			r.Header.Del(identity.Header)
			r.Header.Del(identity.CallerHeader)
			r.Body = io.NopCloser(bytes.NewReader(body))
			h.ServeHTTP(w, auth.Passed(r, p))
		}
	})
}
