package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/app/config"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/invalid"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
	"freshet/internal/store/postgres"
)

// settingsInForce are the current settings. Only the goroutine of the service reads and changes the
// embedded value.
type settingsInForce struct {
	config.Settings
	shared atomic.Pointer[config.Settings] // for other goroutines
}

func (s *settingsInForce) set(to config.Settings) {
	s.Settings = to
	s.shared.Store(&to)
}

func (s *settingsInForce) mail() (sinks.Sink, error) { return s.shared.Load().MailServer() }

// A reloader changes the settings of a leader: it reloads file, environment and flags, or applies
// edits made over the API.
type reloader struct {
	ServeConfig
	settings *settingsInForce
	saved    savedSettings
	node     *Node
	sinks    *delivery.Sinks
	loader   *loader
	asks     chan ask
}

// wait handles reloads until ctx is done or the work of Once is done.
func (r *reloader) wait(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			r.Log.Info("stopping; running polls can finish")
			return
		case <-r.Once:
			if err := r.node.Daemon.Prune(ctx); err != nil && ctx.Err() == nil {
				r.Log.Error("prune", "err", err)
			}
			return
		case <-r.Hangups:
			if err := r.reload(ctx); err != nil {
				r.Log.Error("reload failed; nothing has changed", "err", err, "hint", freshet.HintOf(err))
			}
		case ask := <-r.asks:
			ask.answer <- ask.do(ctx)
		}
	}
}

// An ask is a function to run between two reloads.
type ask struct {
	do     func(context.Context) error
	answer chan<- error
}

// between runs a function between two reloads and returns its error.
func (r *reloader) between(ctx context.Context, do func(context.Context) error) error {
	answer := make(chan error, 1)
	select {
	case r.asks <- ask{do, answer}:
		return <-answer
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// apply applies the settings that can change at run time.
func (r *reloader) apply(to config.Settings) {
	r.node.listed.Store(int64(to.Sources.Len()))
	r.node.limits.set(r.node.Daemon, fitFiles(to, openFiles()).Limits)
	r.node.Daemon.SetLevels(to.Wanted())
	r.node.Daemon.SetStrategies(to.Strategies)
	r.node.Daemon.SetKeep(to.Retention.Keep, to.Retention.Logs)
	if r.Reloaded != nil {
		r.Reloaded(r.settings.Settings, to)
	}
	r.settings.set(to)
}

// reload reads the settings again. If they are invalid, nothing changes.
func (r *reloader) reload(ctx context.Context) error {
	to, err := r.Load()
	if err == nil {
		to, err = r.saved.addTo(ctx, to)
	}
	if err != nil {
		return err
	}
	to.Fetch.Self = r.settings.Fetch.Self
	to.Data = r.settings.Data
	open := outlets(r.node.withLeaseCheck(to), r.node.Store, r.settings.mail, r.Now)
	if err := checkSinks(to.AllSinks(), open); err != nil {
		return err
	}
	r.node.access.SetProfiles(to.Requests)
	r.loader.stop() // the new list replaces the one being loaded
	if err := r.node.syncSources(ctx, to); err != nil {
		return err
	}
	if err := r.sinks.Reload(ctx, to.AllSinks(), open); err != nil {
		return err
	}
	// After the sinks, which have recorded deliveries for matches of the removed queries by now.
	if err := r.node.syncQueries(ctx, to); err != nil {
		return err
	}
	r.apply(to)
	r.Log.Info("settings reloaded", "budget", to.Limits.Budget.String(), "sources", to.Sources.Len())
	return nil
}

// edit changes settings and saves them; on a dry run it only validates. It returns the new
// settings.
func (r *reloader) edit(ctx context.Context, edit client.SettingsEdit) (edited client.Settings, bounds api.Bounds, err error) {
	err = r.between(ctx, func(ctx context.Context) error {
		was := r.settings.Settings
		if err := keepMailPassword(was, &edit); err != nil {
			return err
		}
		to, err := was.With(edit.Set, edit.Unset)
		if err != nil {
			return err
		}
		edited = settingsOf(to)
		bounds = api.Bounds{
			Now: was.Limits, Then: to.Limits, Keep: to.Retention.Keep, Logs: to.Retention.Logs,
			KeepChanges: was.Retention.Keep != to.Retention.Keep || was.Retention.Logs != to.Retention.Logs,
		}
		if edit.DryRun {
			return nil
		}
		saved, err := r.saved.read(ctx, was.Data)
		if err != nil {
			return err
		}
		for _, key := range edit.Unset {
			delete(saved, key)
		}
		for _, o := range config.Live() {
			if _, set := edit.Set[o.Key]; set {
				saved[o.Key] = o.Text(to)
			}
		}
		if err := r.saved.write(ctx, was.Data, r.node, saved); err != nil {
			return err
		}
		r.apply(to)
		r.Log.Info("settings changed over the API", "set", edit.Set, "unset", edit.Unset)
		return nil
	})
	return edited, bounds, err
}

// mailSecret is the name of the secret that has the password at the mail server.
const mailSecret = "mail-password"

// keepMailPassword stores a password that an edit sets, and has the edit refer to it. It is for the mail server of
// the edit alone: who changes the server later has to know it.
func keepMailPassword(was config.Settings, edit *client.SettingsEdit) error {
	password := edit.Set[config.MailPassword]
	found, err := profile.Value(password).References()
	switch {
	case password == "" || err != nil:
		return nil // it is judged with the other settings
	case len(found) > 0 && slices.ContainsFunc(found, func(r profile.Reference) bool { return r.Kind != profile.SealedSecret }):
		return invalid.Errorf("set."+config.MailPassword, "only the configuration file can use files and environment variables")
	case len(found) > 0:
		return nil
	}
	edit.Set = maps.Clone(edit.Set)
	edit.Set[config.MailPassword] = "${secret:" + mailSecret + "}"
	to, err := was.With(edit.Set, edit.Unset)
	if err != nil {
		return err
	}
	server, err := url.Parse(to.Mail.Server)
	switch {
	case err != nil || server.Host == "":
		return invalid.Errorf("set."+config.MailPassword, "is for one server: set mail.server, too")
	case edit.DryRun:
		return nil
	}
	return secrets.Open(was.SecretDir()).Set(secrets.Entry{Name: mailSecret, Hosts: []string{strings.ToLower(server.Host)}, Set: time.Now()}, []byte(password))
}

// settingsOf returns the settings that can change at run time, for the API.
func settingsOf(s config.Settings) client.Settings {
	all := client.Settings{File: s.File, Items: []client.Setting{}}
	for _, allowed := range s.Fetch.Allow {
		all.AllowCIDR = append(all.AllowCIDR, allowed.String())
	}
	for _, o := range config.Live() {
		from := s.From(o.Key)
		item := client.Setting{
			Key: o.Key, Value: o.Text(s), Default: o.Text(config.Defaults(func(string) string { return "" })), From: string(from), About: o.Help,
			Fixed: from != config.FromDefault && from != config.FromAPI,
		}
		switch from {
		case config.FromFile:
			item.Where = s.File
		case config.FromEnv:
			item.Where = o.Env
		case config.FromFlag:
			item.Where = "--" + o.Flag
		}
		all.Items = append(all.Items, item)
	}
	return all
}

// savedSettings are the settings that were changed over the API. They are in the database if nodes
// share one, and otherwise in the data directory.
type savedSettings struct{ peers *postgres.Peers }

// read returns them. An empty database falls back to the data directory.
func (s savedSettings) read(ctx context.Context, data string) (map[string]string, error) {
	if s.peers == nil {
		return config.ReadKept(data)
	}
	text, err := s.peers.Fact(ctx, settingsFact)
	switch {
	case err != nil:
		return nil, err
	case text == "":
		return config.ReadKept(data)
	}
	saved := map[string]string{}
	if err := json.Unmarshal([]byte(text), &saved); err != nil {
		return nil, fmt.Errorf("read the settings that were changed over the API: %w", err)
	}
	return saved, nil
}

// write replaces them. Only the leader can.
func (s savedSettings) write(ctx context.Context, data string, leader *Node, saved map[string]string) error {
	if s.peers == nil {
		return config.WriteKept(data, saved)
	}
	text, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	return leader.leaderStore.SetFact(ctx, settingsFact, string(text))
}

// addTo returns settings with those of the database, if there is one. Those of the data directory
// are already included.
func (s savedSettings) addTo(ctx context.Context, to config.Settings) (config.Settings, error) {
	if s.peers == nil {
		return to, nil
	}
	saved, err := s.read(ctx, to.Data)
	if err == nil {
		err = to.TakeKept(saved, "the settings in "+s.peers.Name())
	}
	return to, err
}
