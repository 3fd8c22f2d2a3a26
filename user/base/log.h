/* log.h - messages for people, on stderr; results never go this way. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level {
	LOG_LEVEL_NONE = -1, /* of log_set_level(): nothing is said */
	LOG_LEVEL_ERR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/* Messages above this level are dropped; LOG_LEVEL_INFO at start. */
void log_set_level(enum log_level level);

/* One line, "tpbpf: ...", stripped of control bytes: parts of it may come from the watched job. */
void log_message(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define log_err(...) log_message(LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warn(...) log_message(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif /* BASE_LOG_H */
