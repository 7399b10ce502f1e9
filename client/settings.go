package client

import (
	"context"
	"net/http"
)

// Settings are those that can be changed while the daemon runs.
type Settings struct {
	File  string    `json:"file,omitempty" doc:"Configuration file of the daemon"`
	Items []Setting `json:"items" nullable:"false"`

	AllowCIDR []string `json:"allow_cidr,omitempty" readOnly:"true" doc:"Private addresses that the daemon may poll; set when it starts"`

	Effect *SettingsEffect `json:"effect,omitempty" doc:"What the edit would bring; only of a dry run"`
}

// A SettingsEffect is what an edit of settings would bring.
type SettingsEffect struct {
	Changed []SettingChange `json:"changed" nullable:"false" doc:"The settings that would get another value"`
	Drops   *Drops          `json:"drops,omitempty" doc:"What would be deleted of the history now, if a bound on it is changed"`
	Polling *PollingEffect  `json:"polling,omitempty" doc:"What would be captured, if the budget or a limit of hosts or sources is changed"`
}

// A SettingChange is a setting that gets another value.
type SettingChange struct {
	Key  string `json:"key"`
	From string `json:"from" doc:"The value in force"`
	To   string `json:"to" doc:"The value then"`
}

// Drops are what bounds on the history delete, within seconds of being set.
type Drops struct {
	Versions int   `json:"versions" doc:"The newest version of a source is never among them. Their changes stay in the log, but can no longer be compared"`
	Outcomes int64 `json:"outcomes" doc:"Results of polls"`
	Bytes    int64 `json:"bytes" doc:"Of stored versions, about"`
}

// A PollingEffect is what is expected of polling under limits now, and under others.
type PollingEffect struct {
	TooEarly string      `json:"too_early,omitempty" doc:"Why the shares are not known yet, if they are not"`
	Now      BudgetPoint `json:"now" doc:"What the limits in force bring"`
	Then     BudgetPoint `json:"then" doc:"What the others would"`
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
	DryRun bool              `json:"dry_run,omitempty" doc:"Only say what would hold then, and what it would bring"`
}

// Settings returns what can be set while the daemon runs.
func (c *Client) Settings(ctx context.Context) (Settings, error) {
	return get[Settings](ctx, c, "/settings", nil)
}

// EditSettings changes settings; they hold at once and after a restart. It returns them as
// they are then. With DryRun nothing is changed, and the Effect says what would be.
func (c *Client) EditSettings(ctx context.Context, edit SettingsEdit) (s Settings, err error) {
	err = c.Call(ctx, http.MethodPatch, "/settings", nil, edit, &s)
	return s, err
}
