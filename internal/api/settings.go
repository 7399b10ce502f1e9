package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/forecast"
	"freshet/internal/sched"
)

// settingsAPI serves the settings that can change while the daemon runs.
type settingsAPI struct {
	*rest.Server
	daemon   *daemon.Daemon
	settings *SettingsConfig // nil means none
}

func (a *settingsAPI) routes() {
	a.routeSettings()
}

func (a *settingsAPI) routeSettings() {
	tags := []string{"program"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-settings", Method: http.MethodGet, Path: "/api/v1/settings", Tags: tags,
		Summary: "Show the settings that can be changed while the daemon runs",
	}, a.getSettings)
	rest.Route(a.Server, huma.Operation{
		OperationID: "edit-settings", Method: http.MethodPatch, Path: "/api/v1/settings", Tags: tags,
		Summary: "Change settings",
		Description: "Changes apply at once and survive a restart. The configuration file, the environment and flags take precedence: " +
			"an edit of that is refused with 409. With dry_run nothing is changed, and the answer says what the edit would delete of the history and what would be captured then.",
	}, a.editSettings)
}

// errNoSettings means that nothing can be set here.
func errNoSettings() error {
	p := rest.NewProblem(http.StatusNotFound, "settings are known only while the daemon runs")
	p.Hint = "start it with freshet serve"
	return p
}

// taggedSettings are settings with a tag of what they are.
type taggedSettings struct {
	ETag string `header:"ETag"`
	Body client.Settings
}

func (a *settingsAPI) getSettings(context.Context, *struct{}) (*taggedSettings, error) {
	if a.settings == nil {
		return nil, errNoSettings()
	}
	told := a.settings.Get()
	return &taggedSettings{rest.ContentTag(told), told}, nil
}

type editSettingsInput struct {
	IfMatch rest.IfMatch `header:"If-Match" doc:"Change them only if they still have this ETag; * means any"`
	Body    client.SettingsEdit
}

func (a *settingsAPI) editSettings(ctx context.Context, in *editSettingsInput) (*taggedSettings, error) {
	if a.settings == nil {
		return nil, errNoSettings()
	}
	was, told, then, err := a.setSettings(ctx, in)
	if err != nil {
		return nil, err
	}
	rest.Changed(ctx, valuesOf(was), valuesOf(told))
	tag := rest.ContentTag(told)
	if in.Body.DryRun {
		rest.DryRun(ctx)
		tag = rest.ContentTag(was) // they are as they were
		if told.Effect, err = a.effectOf(ctx, was, told, then); err != nil {
			return nil, err
		}
	}
	return &taggedSettings{tag, told}, nil
}

// valuesOf returns settings for the audit log.
func valuesOf(s client.Settings) map[string]any {
	values := map[string]any{}
	for _, item := range s.Items {
		values[item.Key] = item.Value
	}
	return values
}

// setSettings changes the settings, or only validates the change on a dry run. It returns the
// settings as they were and as they are now.
func (a *settingsAPI) setSettings(ctx context.Context, in *editSettingsInput) (was, told client.Settings, then Bounds, err error) {
	a.Edits.Lock() // no other edit comes between the look and this one
	defer a.Edits.Unlock()
	was = a.settings.Get()
	if err := in.IfMatch.CheckTag("the settings", rest.ContentTag(was)); err != nil {
		return was, told, then, err
	}
	told, then, err = a.settings.Set(ctx, in.Body)
	return was, told, then, err
}

// Bounds are what settings allow: how much is polled, and how much of it is kept.
type Bounds struct {
	Now  sched.Limits // in force
	Then sched.Limits // after the edit
	Keep freshet.Keep
	Logs time.Duration

	// KeepChanges says that the edit changes a bound on the history.
	KeepChanges bool
}

// effectOf says what an edit of settings would bring.
func (a *settingsAPI) effectOf(ctx context.Context, was, told client.Settings, then Bounds) (*client.SettingsEffect, error) {
	effect := &client.SettingsEffect{Changed: []client.SettingChange{}}
	for i, item := range told.Items { // both list what there is to set, in one order
		if before := was.Items[i].Value; before != item.Value {
			effect.Changed = append(effect.Changed, client.SettingChange{Key: item.Key, From: before, To: item.Value})
		}
	}
	if then.KeepChanges {
		gone, err := a.daemon.WouldPrune(ctx, then.Keep, then.Logs, then.Then.Budget)
		if err != nil {
			return nil, fmt.Errorf("what the bounds would delete: %w", err)
		}
		effect.Drops = &client.Drops{Versions: gone.Versions, Outcomes: gone.Outcomes, Bytes: gone.Bytes}
	}
	if !alike(then.Now, then.Then) {
		polling, err := a.pollingUnder(ctx, then)
		if err != nil {
			return nil, fmt.Errorf("what is expected of the sources: %w", err)
		}
		effect.Polling = polling
	}
	return effect, nil
}

// alike says whether the same is expected of polling under two limits.
func alike(x, y sched.Limits) bool {
	return x.Budget == y.Budget && x.Hosts.Delay == y.Hosts.Delay && x.Hosts.Share == y.Hosts.Share && x.SourceShare == y.SourceShare && x.SourceGap == y.SourceGap
}

// pollingUnder compares what is expected under two limits.
func (a *settingsAPI) pollingUnder(ctx context.Context, b Bounds) (*client.PollingEffect, error) {
	now, err := a.daemon.ProspectsUnder(ctx, b.Now)
	if err != nil {
		return nil, err
	}
	then := now
	if b.Now.SourceGap != b.Then.SourceGap {
		if then, err = a.daemon.ProspectsUnder(ctx, b.Then); err != nil {
			return nil, err
		}
	}
	effect, terms := &client.PollingEffect{}, a.daemon.TermsUnder(b.Now)
	if n, err := a.daemon.Overall(ctx); err == nil { // without a learner there is nothing to tell
		effect.TooEarly = capturedOf(n.All).TooEarly
		if t := n.All.Tally; t.Happened > 0 && effect.TooEarly == "" {
			terms.Seen = learn.Share(t)
		}
	}
	m := forecast.New(now, terms)
	other, rest := m, b.Then
	if rest.Budget = b.Now.Budget; !alike(b.Now, rest) { // not the budget alone, which the same market knows
		other = m.Under(then, a.daemon.TermsUnder(b.Then))
	}
	effect.Now, effect.Then = pointOf(m.Now()), pointOf(other.At(b.Then.Budget.PerSecond()))
	return effect, nil
}
