# Phases: checkers that are drivers or layers of them. Read by tests/run.sh.
# shellcheck shell=sh

# layer_settings FEATURE...: of the Vulkan validation layer, whose messages go to the test's output.
layer_settings() {
    printf '%s\n' 'khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG' \
        'khronos_validation.report_flags = error,warn' 'khronos_validation.log_filename = stdout' \
        "khronos_validation.enables = $(echo "$*" | tr ' ' ,)" >"$work/vk_layer_settings.txt"
}

# under_layer COMMAND...
under_layer() {
    VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation VK_LAYER_SETTINGS_PATH="$work/vk_layer_settings.txt" \
        VK_LOADER_DEBUG=layer "$@"
}
layer_findings='VUID-|SYNC-HAZARD|UNASSIGNED-|Validation (Error|Warning)'

phase_validation() {
    need_build
    say "Checker: Vulkan validation with synchronisation, named set"
    layer_settings VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
    under_layer ctest_run validation build -L '^vulkan$' -L '^named$' -j "$jobs" --verbose
    no_findings validation "$layer_findings" "the validation layer found something"
    needs_finding validation 'VK_LAYER_KHRONOS_validation' "the layer was not loaded"
}

# matrix ROWS COLUMNS: small numbers, as the command takes them.
matrix() {
    awk -v rows="$1" -v columns="$2" 'BEGIN {
        for (i = 0; i < rows; i++) {
            printf "%s", i ? "], [" : "[["
            for (j = 0; j < columns; j++) printf "%s%d", j ? ", " : "", (i * 7 + j * 3) % 5
        }
        print "]]"
    }'
}

# assisted PRETENCE ARGUMENT...: the command, in the form of the kernels that is asked for.
assisted() {
    assisted_form=$1
    shift
    ANYMAX_CACHE=off ANYMAX_PRETEND=$assisted_form \
        under_layer quietly "gpu-$2" build/bench/anymax "$@" --device vulkan ||
        count failed "gpu-assisted: anymax $1 $2 with $assisted_form"
    cat "$work/gpu-$2.log" >>"$work/gpu-assisted.log"
    echo "  $assisted_form, $1 $2: $took s"
}

# The layer rewrites the shaders so that they check each access against the size of the buffer. That takes
# a second for a small pipeline and a minute for the unrolled tiles of a product, so that a few rows have to
# do: one to three stages, iterations, a gather, candidates.
phase_gpu_assisted() {
    need_build
    say "Checker: Vulkan validation inside of shaders"
    layer_settings VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT \
        VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT
    # Word 64 is beyond a buffer of 64 words: whether the layer says so tells whether it is at work.
    under_layer quietly gpu-proof build/tests/checkers/out_of_bounds 64 || true
    needs_finding gpu-proof 'access out of bounds' "an access out of bounds was not found"
    : >"$work/gpu-assisted.log"
    assisted shape=cpu verify logsumexp
    assisted shape=cpu verify entmax15
    assisted shape=gpu run softmax --in "x=$(matrix 3 700)"
    assisted shape=gpu run entmax15 --in "x=$(matrix 3 700)"
    assisted shape=gpu run cross_entropy --in "x=$(matrix 3 40)" --in 'target=[1, 2, 3]'
    no_findings gpu-assisted "$layer_findings" "the validation layer found something"
}

# oclgrind_run NAME PATTERN CTEST_ARGUMENT...: in the simulator; fails if its output has the pattern.
oclgrind_run() {
    oclgrind_name=$1
    oclgrind_pattern=$2
    shift 2
    OCL_ICD_VENDORS=$work/icd OCLGRIND_CHECK_API=1 OCLGRIND_DATA_RACES=1 \
        ctest_run "$oclgrind_name" build --verbose "$@"
    no_findings "$oclgrind_name" "$oclgrind_pattern" "oclgrind found something"
    needs_finding "$oclgrind_name" 'Oclgrind Simulator' "it did not run"
}

# Not OCLGRIND_UNINITIALIZED. Version 21.10 does not know all instructions of optimised kernels; without
# optimisation it takes half an hour, and what the host writes behind the start of a buffer counts as not
# written (clEnqueueWriteBuffer to bytes 256 to 280 of a buffer, then a kernel that reads them), as do
# zeros of clEnqueueFillBuffer: all tensors of the host lie in the workspace, behind its start. The suites
# poison scratch and outputs instead, and memcheck follows the same programs on the CPU.
phase_oclgrind() {
    need_build
    say "Checker: oclgrind, named set"
    icd=$(find /usr/lib /usr/local/lib -name 'liboclgrind-rt-icd.so' 2>/dev/null | head -n 1)
    if [ -z "$icd" ]; then
        count failed "oclgrind is not installed"
        return 0
    fi
    echo "$icd" >"$work/icd/oclgrind.icd"
    # A query that a device does not know is refused, and that is an answer; other calls must be right.
    oclgrind_run oclgrind \
        'Invalid (read|write|access|memory)|data race|divergence detected|OCLGRIND FATAL|Function: cl([A-FH-Z]|Get[A-CE-Z])' \
        -R '^skeleton-plain@opencl$'
}

# wg_run METHOD PRETENCE OPERATION...: golden cases in the GPU's form, which is the one with barriers.
# Not every PoCL has every method; each says which it does not know.
wg_run() {
    method=$1
    wg_pretence=$2
    shift 2
    mkdir "$work/pocl-$method"
    for op in "$@"; do
        POCL_WORK_GROUP_METHOD=$method POCL_CACHE_DIR=$work/pocl-$method ANYMAX_TEST_OP=$op \
            ANYMAX_TEST_DEVICE=opencl ANYMAX_PRETEND=$wg_pretence ANYMAX_CACHE=off \
            quietly "wg-$method-$op" build/tests/test_golden || true
        if grep -q 'Unknown work group generation method' "$work/wg-$method-$op.log"; then
            echo "  PoCL here has no method $method"
            return 0
        fi
        needs_finding "wg-$method-$op" '^100%: Checks: ' "$op failed"
        echo "  $method, $op: $took s"
    done
    wg_known=$((wg_known + 1))
}

# How PoCL runs the items of a group one after the other between two barriers: in loops (its choice for
# these kernels), in loops that it vectorises, as that many copies of the code (too many for more than a
# few items), or in loops around a dispatcher (from version 4 on).
phase_wg_methods() {
    need_build
    say "Checker: PoCL's work-group methods"
    wg_known=0
    wg_run loops shape=gpu softmax cross_entropy entmax15
    wg_run loopvec shape=gpu softmax cross_entropy entmax15
    wg_run workitemrepl shape=gpu,invocations=4 softmax entmax15
    wg_run cbs shape=gpu softmax cross_entropy entmax15
    if [ "$wg_known" -lt 2 ]; then
        count failed "wg-methods: PoCL here has $wg_known of the methods"
    fi
}
