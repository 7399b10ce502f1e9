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

// forwardedHeader marks a forwarded request, which must not be forwarded again.
const forwardedHeader = "Freshet-Passed"

// Values of [identity.Header] in the response of a node that rejects a signed request.
const (
	unknownNode  = "unknown"   // the signing node is unknown
	notLeader    = "elsewhere" // this node does not lead, or leads another epoch
	badSignature = "refused"   // the signature is invalid or was used before
)

// The largest request body that a node forwards, and the largest without a credential.
const (
	maxForwardedBody = 17 << 20 // larger than any route accepts
	maxAnonymousBody = 1 << 20
)

// forwardTimeout is how long the leader may take to begin a response.
const forwardTimeout = 2 * time.Minute

// A forwarder forwards requests to the leader.
type forwarder struct {
	signer *identity.Signer
	leader atomic.Pointer[leader]
	proxy  *httputil.ReverseProxy
	log    *slog.Logger
}

// A leader is the target of forwarded requests during one term.
type leader struct {
	postgres.Lease
	url    *url.URL
	ctx    context.Context // context of requests that are forwarded to it
	cancel context.CancelCauseFunc
}

var errMoved = errors.New("another node is the leader now")

func newForwarder(signer *identity.Signer, trust identity.Trust, log *slog.Logger) *forwarder {
	p := &forwarder{signer: signer, log: log}
	p.proxy = &httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: fetch.TrustedBy(forwardTimeout, trust).Transport, FlushInterval: -1,
		ErrorHandler: p.handleError, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ModifyResponse: checkAnswer,
	}
	return p
}

// errUnknownNode reports that the leader does not know this node. It has not performed the request.
var errUnknownNode = errors.New("the leader does not know this node")

// errNotLeader reports that the node does not lead. It has not performed the request.
var errNotLeader = errors.New("the node is not the leader")

// errBadSignature reports that the leader rejected a signature: the request was altered or arrived
// twice.
var errBadSignature = errors.New("the leader rejected the signature of this node")

// checkAnswer returns the error that a response of the leader reports.
func checkAnswer(r *http.Response) error {
	r.Header.Del(instanceHeader)
	switch r.Header.Get(identity.Header) {
	case unknownNode:
		return errUnknownNode
	case notLeader:
		return errNotLeader
	case badSignature:
		return errBadSignature
	}
	return nil
}

// follow records the current leader and cancels requests to a former one.
func (p *forwarder) follow(l postgres.Lease) {
	old := p.leader.Load()
	if old != nil && old.Term == l.Term && old.Address == l.Address && l.Held() {
		return
	}
	var now *leader
	if at, err := url.Parse(l.Address); err == nil && l.Held() && at.Host != "" {
		now = &leader{Lease: l, url: at}
		now.ctx, now.cancel = context.WithCancelCause(context.Background())
	}
	if p.leader.Store(now); old != nil {
		old.cancel(errMoved)
	}
}

// A forwarding is one forwarded request.
type forwarding struct {
	leader   *leader
	caller   *auth.Caller // nil if the caller was not authenticated
	fallback http.HandlerFunc
	header   http.Header // response header to restore for fallback
	body     []byte
}

type forwardingKey struct{}

// forward forwards a request of an authenticated caller. Fallback answers it if there is no leader;
// it may be nil. It implements [api.Forward].
func (p *forwarder) forward(w http.ResponseWriter, r *http.Request, c auth.Caller, instead http.HandlerFunc) {
	p.send(w, r, &forwarding{caller: &c, fallback: instead})
}

func (p *forwarder) send(w http.ResponseWriter, r *http.Request, f *forwarding) {
	f.leader = p.leader.Load()
	if f.leader == nil || r.Header.Get(forwardedHeader) != "" { // no loops
		p.answerLocally(w, r, f)
		return
	}
	if !f.readBody(w, r) {
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(f.leader.ctx, func() { cancel(errMoved) })()
	f.header = w.Header().Clone()
	for name := range f.header { // the other node sets these
		if name != http.CanonicalHeaderKey(instanceHeader) {
			w.Header().Del(name)
		}
	}
	p.proxy.ServeHTTP(w, r.WithContext(context.WithValue(ctx, forwardingKey{}, f)))
}

// readBody reads the body, which is signed. If that fails, it writes the response and returns
// false.
func (f *forwarding) readBody(w http.ResponseWriter, r *http.Request) bool {
	limit := int64(maxForwardedBody)
	if f.caller == nil || !f.caller.Known {
		limit = maxAnonymousBody
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		api.NoLeader(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("request body is too large limit=%d bytes", limit), "")
		return false
	}
	if err != nil { // the client is gone
		return false
	}
	f.body = body
	return true
}

// answerLocally answers a request that cannot be forwarded.
func (p *forwarder) answerLocally(w http.ResponseWriter, r *http.Request, f *forwarding) {
	if f.fallback != nil {
		maps.Copy(w.Header(), f.header)
		f.fallback(w, r)
		return
	}
	api.NoLeader(w, http.StatusServiceUnavailable, "there is no leader at the moment; a node will take over", "try again in a few seconds; reads are answered meanwhile")
}

// rewrite addresses a request to the leader, describes its caller and signs it.
func (p *forwarder) rewrite(r *httputil.ProxyRequest) {
	f := r.In.Context().Value(forwardingKey{}).(*forwarding)
	r.SetURL(f.leader.url)
	r.Out.Host = f.leader.url.Host
	h := r.Out.Header
	h.Set(forwardedHeader, "1")
	h.Del(identity.Header)
	h.Del(identity.CallerHeader)
	r.Out.Body, r.Out.ContentLength = http.NoBody, 0
	if len(f.body) > 0 {
		r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(f.body)), int64(len(f.body))
	}
	r.Out.TransferEncoding = nil
	if f.caller == nil {
		r.SetXForwarded()
		return
	}
	for _, name := range []string{"Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "X-Real-Ip", "Via"} { // checked by this node
		h.Del(name)
	}
	h.Set("X-Forwarded-For", f.caller.From)
	h.Set("X-Forwarded-Proto", "http")
	if f.caller.Secure {
		h.Set("X-Forwarded-Proto", "https")
	}
	if f.caller.Everybody() { // the caller has no credential, or one that only this node knows
		h.Del("Authorization")
		h.Set(identity.CallerHeader, f.caller.Via)
	}
	p.signer.Sign(r.Out, f.leader.Address, f.leader.Term, f.body)
}

// handleError answers a request that could not be forwarded.
func (p *forwarder) handleError(w http.ResponseWriter, r *http.Request, err error) {
	f := r.Context().Value(forwardingKey{}).(*forwarding)
	if f.fallback != nil {
		p.answerLocally(w, r, f)
		return
	}
	p.log.Info("forwarding a request failed", "to", f.leader.Address, "path", r.URL.Path, "err", err)
	if errors.Is(err, errUnknownNode) {
		api.NoLeader(w, http.StatusServiceUnavailable, err.Error()+" yet: it has just started, or could not reach the database for a while", "try again in a few seconds; reads are answered meanwhile")
		return
	}
	if errors.Is(err, errNotLeader) {
		api.NoLeader(w, http.StatusServiceUnavailable, "another node is taking over", "try again in a few seconds; reads are answered meanwhile")
		return
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		api.NoLeader(w, http.StatusServiceUnavailable, "the leader cannot be reached; if it is gone, another one takes over", "try again in a few seconds; reads are answered meanwhile")
		return
	}
	detail := "the leader did not answer"
	if slices.Contains([]string{http.MethodGet, http.MethodHead}, r.Method) {
		api.NoLeader(w, http.StatusServiceUnavailable, detail, "try again in a few seconds")
		return
	}
	api.NoLeader(w, http.StatusBadGateway, detail+"; the request may have been performed", "check, or repeat the request with the same Idempotency-Key, which performs it at most once")
}

// acceptForwarded authenticates requests that another node signed for the leader of epoch, and
// serves them on behalf of their clients. A nil verifier means that this node does not lead: it
// rejects signed requests.
func acceptForwarded(verifier *identity.Verifier, epoch int64, h http.Handler) http.Handler {
	refuse := func(w http.ResponseWriter, why string) {
		w.Header().Set(identity.Header, why)
		http.Error(w, "signed request rejected: "+why, http.StatusForbidden)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(identity.Header) == "" {
			h.ServeHTTP(w, r)
			return
		}
		if verifier == nil {
			refuse(w, notLeader)
			return
		}
		signed, body, err := verifier.Verify(r, maxForwardedBody)
		switch {
		case errors.Is(err, identity.ErrUnknownNode):
			refuse(w, unknownNode)
		case errors.Is(err, identity.ErrForged), errors.Is(err, identity.ErrReplayed):
			refuse(w, badSignature)
		case err != nil:
			api.NoLeader(w, http.StatusServiceUnavailable, "the database cannot be read", "try again in a moment")
		case signed != epoch:
			refuse(w, notLeader)
		default:
			p := auth.Passing{From: r.Header.Get("X-Forwarded-For"), Secure: r.Header.Get("X-Forwarded-Proto") == "https", Via: r.Header.Get(identity.CallerHeader)}
			r.Header.Del(identity.Header)
			r.Header.Del(identity.CallerHeader)
			r.Body = io.NopCloser(bytes.NewReader(body))
			h.ServeHTTP(w, auth.Passed(r, p))
		}
	})
}
