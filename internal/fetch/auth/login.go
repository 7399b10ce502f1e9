package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/profile"
	"freshet/internal/mask"
)

// login sees to it that there is a session, and a newer one than the one that has
// expired, if any. It reports whether it logged in just now.
func (a *asking) login(ctx context.Context, s *session, expired int) (now bool, err error) {
	if err := a.mayLogIn(); err != nil {
		return false, err
	}
	release, err := s.take(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	a.client.logins.load(ctx, s)
	at := a.client.cfg.Now()
	if s.Count > 0 && s.Count != expired && !s.overdue(a.profile.Login, at) {
		return false, nil
	}
	if until := s.Pause.over(at); !until.IsZero() {
		return false, loginFailure(failure.LoginWait, "the last login did not work; the next is tried after %s", until.UTC().Format(time.RFC3339))
	}
	if next := s.At.Add(a.profile.Login.Apart()); s.Count > 0 && at.Before(next) && next.Sub(at) <= a.profile.Login.Apart() {
		return false, loginFailure(failure.LoginWait, "the session has expired already; the next login is made after %s", next.UTC().Format(time.RFC3339))
	}
	err = a.logIn(ctx, s)
	if err == nil {
		s.At, s.Count = a.client.cfg.Now(), s.Count+1
	} else if spent(err) {
		s.Pause.lengthen(a.client.cfg.Now())
	}
	a.client.logins.save(ctx, s)
	return err == nil, err
}

// mayLogIn returns an error if the source may not have the secrets of its login sent. A session
// is shared: without the check, a source of the API could use one that it may not open.
func (a *asking) mayLogIn() error {
	if !a.ownLogin() {
		return nil
	}
	for _, step := range a.profile.Login.Steps {
		host := freshet.HostOf(step.URL())
		p := profile.Profile{Headers: step.Headers, Form: step.Form, Body: step.Body}
		for _, v := range p.Values {
			found, _ := v.References() // they have been checked
			for _, r := range found {
				if r.Kind == profile.TakenValue {
					continue
				}
				if _, err := a.value(r, host); err != nil {
					return &freshet.FetchError{Class: failure.Secret, Err: err, Hint: freshet.HintOf(err)}
				}
			}
		}
	}
	return nil
}

// ownLogin reports whether the steps of the login are those of an API source.
func (a *asking) ownLogin() bool {
	return a.Source.Origin != freshet.FromFile && a.Source.Request.Login != nil
}

// settle notes what came of a session: that it let the source be seen, or that a new
// one did not, which is what a wrong password looks like.
func (a *asking) settle(ctx context.Context, s *session, now bool, err error) {
	worked := !isExpired(err)
	if worked && !now || !worked && !now || err != nil && worked {
		return
	}
	release, stop := s.take(context.WithoutCancel(ctx))
	if stop != nil {
		return
	}
	defer release()
	if worked {
		s.Pause = pause{}
	} else {
		s.Pause.lengthen(a.client.cfg.Now())
	}
	a.client.logins.save(ctx, s)
}

// isExpired reports whether a fetch ended as it does without a session.
func isExpired(err error) bool {
	e, ok := errors.AsType[*freshet.FetchError](err)
	return ok && (e.Class.Is(failure.Expect) || e.Class == failure.HTTP.WithStatus(http.StatusUnauthorized) || e.Class == failure.HTTP.WithStatus(http.StatusForbidden))
}

func loginFailure(class failure.Class, format string, args ...any) error {
	return &freshet.FetchError{Class: class, Err: fmt.Errorf(format, args...), Hint: "check the steps of request.login and the secrets in them"}
}

// logIn makes the steps of the login.
func (a *asking) logIn(ctx context.Context, s *session) error {
	a.taken = map[string]takenValue{}
	for i, step := range a.profile.Login.Steps {
		if err := a.loginStep(ctx, s, step); err != nil {
			if !spent(err) {
				return err
			}
			return loginFailure(failure.Login, "login: step %d, %s: %w", i+1, mask.URL(step.URL()), err)
		}
	}
	s.Taken = maps.Clone(a.taken)
	return nil
}

// loginStep makes one step and takes from the answer what the next ones need.
func (a *asking) loginStep(ctx context.Context, s *session, step profile.LoginStep) error {
	how, err := a.way()
	if err != nil {
		return err
	}
	host := freshet.HostOf(step.URL())
	how.Header, how.Secret, how.Cookies = http.Header{}, http.Header{}, s.jar
	if a.profile.Language != "" {
		how.Header.Set("Accept-Language", a.profile.Language)
	}
	if err := a.headers(&how, step.Headers, host); err != nil {
		return err
	}
	if step.Post != "" {
		how.Method = http.MethodPost
	}
	if err := a.body(&how, step.Body, step.Form, host); err != nil {
		return err
	}
	if step.Expect != nil {
		how.Status = step.Expect.Status
	}
	resp, err := a.client.cfg.Fetcher.Send(ctx, freshet.Request{URL: step.URL(), Leave: aside(a.Leave), Room: a.Room}, nobody(how))
	a.aside += resp.Requests
	a.rememberAll(s.jar.secrets())
	if isNoContent(err) && len(step.Take) == 0 {
		err = nil // a login need not bring a page
	}
	if err == nil {
		err = a.judge(step.Expect, resp.Body)
	}
	if err != nil {
		return err
	}
	return a.takeAll(s, step, resp)
}

// nobody returns a sending whose POST has a body, if an empty one: servers
// require its length.
func nobody(how fetch.Sending) fetch.Sending {
	if how.Method == http.MethodPost && how.Body == nil {
		how.Body = []byte{}
	}
	return how
}

func isNoContent(err error) bool {
	e, ok := errors.AsType[*freshet.FetchError](err)
	return ok && e.Class == failure.NoContent
}

// takeAll takes the values of a step from a response. The steps of an API source see it without the secrets
// that it repeats: whether a value is found is shown, and would give them away bit by bit.
func (a *asking) takeAll(s *session, step profile.LoginStep, resp freshet.Response) error {
	body := resp.Body
	if a.ownLogin() {
		body = without(body, a.given)
	}
	for _, name := range slices.Sorted(maps.Keys(step.Take)) {
		t := step.Take[name]
		var value string
		var err error
		from := resp.URL
		if t.Cookie != "" {
			from = step.URL()
			value, err = s.cookie(t.Cookie, from)
		} else {
			value, err = take(t, body)
		}
		if err != nil {
			return fmt.Errorf("take %s: %w", name, err)
		}
		a.taken[name] = takenValue{value, freshet.HostOf(from), a.hosts}
		a.remember(value)
	}
	return nil
}

// cookie returns the value of a cookie that goes to a URL.
func (s *session) cookie(name, to string) (string, error) {
	u, err := url.Parse(to)
	if err != nil {
		return "", err
	}
	for _, c := range s.jar.Cookies(u) {
		if c.Name == name {
			return c.Value, nil
		}
	}
	return "", errNotThere
}

// load reads what was stored of a session. It is called by whose turn it is.
func (ls *logins) load(ctx context.Context, s *session) {
	if s.loaded {
		return
	}
	s.loaded = true
	cfg := ls.client.cfg
	if cfg.Store == nil || cfg.Vault == nil {
		return
	}
	for b, err := range cfg.Store.States(ctx, s.belief()) {
		if err == nil {
			var text []byte
			if text, err = cfg.Vault.Unseal(s.belief(), b.Value); err == nil {
				err = json.Unmarshal(text, &s.state)
			}
			if bytes.Contains(text, []byte(`"taken":`)) {
				s.state = state{Pause: s.Pause} // from before values were bound to hosts
			}
		}
		if err != nil {
			cfg.Log.Warn("a session cannot be read; the login is made anew", "err", err)
		}
	}
}

// save stores what is known of a session. It is called by whose turn it is.
func (ls *logins) save(ctx context.Context, s *session) {
	cfg := ls.client.cfg
	if cfg.Store == nil || cfg.Vault == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	text, err := json.Marshal(s.state)
	if err == nil {
		text, err = cfg.Vault.Seal(s.belief(), text)
	}
	if err == nil {
		err = cfg.Store.SaveState(ctx, []freshet.State{{Key: s.belief(), Value: text}})
	}
	if err != nil {
		cfg.Log.Error("cannot save a session", "err", err)
	}
	ls.client.jars.keep(ctx, s.jar)
}
