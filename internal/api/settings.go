package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
)

func (a *api) routeSettings(h huma.API) {
	tags := []string{"program"}
	route(h, a, huma.Operation{
		OperationID: "get-settings", Method: http.MethodGet, Path: "/api/v1/settings", Tags: tags,
		Summary: "Show the settings that can be changed while the daemon runs",
	}, a.getSettings)
	route(h, a, huma.Operation{
		OperationID: "edit-settings", Method: http.MethodPatch, Path: "/api/v1/settings", Tags: tags,
		Summary: "Change settings",
		Description: "They hold at once, and after a restart. What the configuration file, the environment or a flag says wins: " +
			"an edit of that is refused with 409. With dry_run nothing is changed, and the answer says what the edit would delete of the history and what would be captured then.",
	}, a.editSettings)
}

// errNoSettings means that nothing can be set here.
func errNoSettings() error { return problem(http.StatusNotFound, "there are no settings here") }

// taggedSettings are settings with a tag of what they are.
type taggedSettings struct {
	ETag string `header:"ETag"`
	Body client.Settings
}

func (a *api) getSettings(context.Context, *struct{}) (*taggedSettings, error) {
	if a.Settings == nil {
		return nil, errNoSettings()
	}
	told := a.Settings()
	return &taggedSettings{contentTag(told), told}, nil
}

type editSettingsInput struct {
	IfMatch ifMatch `header:"If-Match" doc:"Change them only if they still have this ETag; * means any"`
	Body    client.SettingsEdit
}

func (a *api) editSettings(ctx context.Context, in *editSettingsInput) (*taggedSettings, error) {
	if a.SetSettings == nil {
		return nil, errNoSettings()
	}
	was, told, then, err := a.setSettings(ctx, in)
	if err != nil {
		return nil, err
	}
	tag := contentTag(told)
	if in.Body.DryRun {
		onlyTried(ctx)
		tag = contentTag(was) // they are as they were
		if told.Effect, err = a.effectOf(ctx, was, told, then); err != nil {
			return nil, err
		}
	}
	return &taggedSettings{tag, told}, nil
}

// setSettings changes the settings, or only judges that on a dry run. It returns what was
// told of them before and is now.
func (a *api) setSettings(ctx context.Context, in *editSettingsInput) (was, told client.Settings, then Bounds, err error) {
	a.edits.Lock() // no other edit comes between the look and this one
	defer a.edits.Unlock()
	was = a.Settings()
	if err := in.IfMatch.checkTag("the settings", contentTag(was)); err != nil {
		return was, told, then, err
	}
	told, then, err = a.SetSettings(ctx, in.Body)
	return was, told, then, err
}
