/* headrace.h: the public API */
#pragma once
#include "hr-buffer.h"
#include "hr-element.h"
#include "hr-error.h"
#include "hr-log.h"
#include "hr-memory.h"
#include "hr-pipeline.h"
#include "hr-plan.h"
#include "hr-plugin.h"
#include "hr-prop.h"
#include "hr-random.h"
#include "hr-registry.h"
#include "hr-tensor.h"
