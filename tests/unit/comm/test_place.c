/* comm_place: chooses between the environment variables of mpirun and srun, and never returns a rank outside of the
 * valid range. */
#include "tensor/comm/comm.h"
#include "test.h"

static const char *const words[][3] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
                                       {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
                                       {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"}};

/* Sets one launcher's variables (NULL: not set) and returns the rank as RANK/SIZE/HERE, or "none". */
static const char *place(size_t launcher, const char *rank, const char *size, const char *here)
{
    static char text[64];
    const char *value[3] = {rank, size, here};
    int n[3] = {-1, -1, -1};
    for (size_t i = 0; i < LENGTH(words); i++)
        for (int k = 0; k < 3; k++) unsetenv(words[i][k]);
    for (int k = 0; k < 3; k++)
        if (value[k]) setenv(words[launcher][k], value[k], 1);
    if (!comm_place(&n[0], &n[1], &n[2])) return "none";
    snprintf(text, sizeof text, "%d/%d/%d", n[0], n[1], n[2]);
    return text;
}

int main(void)
{
    static const char *const hostile[] = {
        "",     " ",   "-1", "-9223372036854775808", "9223372036854775807", "1e18", "4.0", "$(id)", "1;id",
        "4097", "nan", "0x1"};
    for (size_t i = 0; i < LENGTH(words); i++) {
        CHECK_TEXT(place(i, "1", "4", "1"), "1/4/1");
        CHECK_TEXT(place(i, "0", "4096", NULL), "0/4096/0");
        CHECK_TEXT(place(i, "4", "4", "0"), "none");
        CHECK_TEXT(place(i, "0", "4", "4"), "none");
        CHECK_TEXT(place(i, "1", NULL, "0"), "none");
        for (size_t k = 0; k < LENGTH(hostile); k++) {
            CHECK_TEXT(place(i, hostile[k], "4", "0"), "none");
            CHECK_TEXT(place(i, "0", hostile[k], "0"), "none");
            CHECK_TEXT(place(i, "0", "4", hostile[k]), "none");
        }
    }
    place(2, "1", "4", "1");
    setenv(words[0][0], "-1", 1), setenv(words[0][1], "2", 1);
    int n[3];
    CHECK(comm_place(&n[0], &n[1], &n[2]));
    CHECK_INT(n[1], 4); /* mpirun's variables are invalid: srun's are used */
    return test_end();
}
