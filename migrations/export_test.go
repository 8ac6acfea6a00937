package migrations

// LockKey lets a test stand where another migrating process would.
const LockKey = lockKey
