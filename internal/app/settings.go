package app

import (
	"context"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/app/config"
)

// told returns the settings that can be changed while the daemon runs, as the API tells them.
func (s *service) told() client.Settings { return toldOf(*s.inForce.Load()) }

func toldOf(s config.Settings) client.Settings {
	told := client.Settings{File: s.File, Items: []client.Setting{}}
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
		told.Items = append(told.Items, item)
	}
	return told
}

// setSettings changes settings and keeps them in the data directory or the database; on a dry run it only
// judges them. It returns them as they are then.
func (s *service) setSettings(ctx context.Context, edit client.SettingsEdit) (told client.Settings, bounds api.Bounds, err error) {
	err = s.inTurn(ctx, func(ctx context.Context) error {
		was := s.settings
		to, err := was.With(edit.Set, edit.Unset)
		if err != nil {
			return err
		}
		told = toldOf(to)
		bounds = api.Bounds{Now: was.Limits, Then: to.Limits, Keep: to.Keep, Logs: to.Logs, KeepChanges: was.Keep != to.Keep || was.Logs != to.Logs}
		if edit.DryRun {
			return nil
		}
		kept, err := s.readKept(ctx)
		if err != nil {
			return err
		}
		for _, key := range edit.Unset {
			delete(kept, key)
		}
		for _, o := range config.Live() {
			if _, set := edit.Set[o.Key]; set {
				kept[o.Key] = o.Text(to)
			}
		}
		if err := s.writeKept(ctx, kept); err != nil {
			return err
		}
		s.takeOn(to)
		s.Log.Info("settings changed over the API", "set", edit.Set, "unset", edit.Unset)
		return nil
	})
	return told, bounds, err
}
