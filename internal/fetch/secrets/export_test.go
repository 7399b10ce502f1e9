package secrets

// Locked has a vault locked while a function runs.
func (v *Vault) Locked(f func() error) error { return v.locked(f) }
