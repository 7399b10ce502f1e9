package web

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
			"an edit of that is refused with 409. With dry_run nothing is changed.",
	}, a.editSettings)
}

// errNoSettings means that nothing can be set here.
func errNoSettings() error { return problem(http.StatusNotFound, "there are no settings here") }

func (a *api) getSettings(context.Context, *struct{}) (*bodyOf[client.Settings], error) {
	if a.Settings == nil {
		return nil, errNoSettings()
	}
	return &bodyOf[client.Settings]{a.Settings()}, nil
}

func (a *api) editSettings(ctx context.Context, in *bodyOf[client.SettingsEdit]) (*bodyOf[client.Settings], error) {
	if a.SetSettings == nil {
		return nil, errNoSettings()
	}
	if in.Body.DryRun {
		onlyTried(ctx)
	}
	told, err := a.SetSettings(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	return &bodyOf[client.Settings]{told}, nil
}
