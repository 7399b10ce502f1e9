package client

import (
	"context"
	"net/http"
)

// Settings are those that can be changed while the daemon runs.
type Settings struct {
	File  string    `json:"file,omitempty" doc:"Configuration file of the daemon"`
	Items []Setting `json:"items" nullable:"false"`
}

// A Setting is something to set, with its value and where that comes from.
type Setting struct {
	Key     string `json:"key" doc:"As in the configuration file, with a dot before what is nested"`
	Value   string `json:"value" doc:"In force"`
	Default string `json:"default" doc:"What holds if nothing is set"`
	From    string `json:"from" enum:"default,api,file,environment,flag" doc:"Where the value comes from; what comes later in this list wins"`
	Where   string `json:"where,omitempty" doc:"The file, variable or flag"`
	Fixed   bool   `json:"fixed,omitempty" doc:"File, environment or flag say it, so it cannot be changed over the API"`
	About   string `json:"about" doc:"What it means"`
}

// A SettingsEdit changes settings.
type SettingsEdit struct {
	Set    map[string]string `json:"set,omitempty" nullable:"false" doc:"New values by key, written as in the configuration file"`
	Unset  []string          `json:"unset,omitempty" nullable:"false" maxItems:"100" doc:"Keys to set back to their defaults"`
	DryRun bool              `json:"dry_run,omitempty" doc:"Only say what would hold then"`
}

// Settings returns what can be set while the daemon runs.
func (c *Client) Settings(ctx context.Context) (s Settings, err error) {
	err = c.get(ctx, "/settings", nil, &s)
	return s, err
}

// EditSettings changes settings; they hold at once and after a restart. It returns them as
// they are then.
func (c *Client) EditSettings(ctx context.Context, edit SettingsEdit) (s Settings, err error) {
	err = c.call(ctx, http.MethodPatch, "/settings", nil, edit, &s)
	return s, err
}
